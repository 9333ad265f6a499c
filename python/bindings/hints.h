#pragma once

#include <memory>
#include <vector>

#include "sluice/framework/hints/kernel_hints.h"
#include "sluice/platform/export.h"

namespace sluice::python {

// While it exists, plans are prepared with the hints of this thread's `with
// sluice.kernel_hints(...)` blocks. Create it with the GIL.
class ActiveHints {
 public:
  SLUICE_API ActiveHints();
  SLUICE_API ~ActiveHints();
  ActiveHints(const ActiveHints&) = delete;
  ActiveHints& operator=(const ActiveHints&) = delete;

 private:
  std::vector<std::unique_ptr<KernelHintGuard>> guards_;
};

}  // namespace sluice::python
