#pragma once

#include <cstdint>

namespace sluice::platform {

// Says what is wrong with element `position` of an input, which is `value` and
// had to be in [0, bound): raises the op's own error.
using RaiseOutside = void (*)(int64_t position, int64_t value, int64_t bound);

// In memory that host and device share, one for each context: what a kernel
// found wrong with its data. The context's next Wait raises it.
struct DataFault {
  unsigned taken;
  int op_index;
  RaiseOutside raise;
  int64_t position;
  int64_t value;
  int64_t bound;
};

}  // namespace sluice::platform
