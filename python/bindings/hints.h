#pragma once

#include <memory>
#include <vector>

#include "sluice/framework/hints/kernel_hints.h"

namespace sluice::python {

// While it lives, the hints of the `with sluice.kernel_hints(...)` blocks that
// this thread is in hold for what it prepares. Make it with the GIL.
class ActiveHints {
 public:
  ActiveHints();
  ~ActiveHints();
  ActiveHints(const ActiveHints&) = delete;
  ActiveHints& operator=(const ActiveHints&) = delete;

 private:
  std::vector<std::unique_ptr<framework::KernelHintGuard>> guards_;
};

}  // namespace sluice::python
