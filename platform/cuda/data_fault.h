#pragma once

#include <cstdint>

namespace sluice {

// Raises the op's error for element `position` of an input: it is `value`, and
// had to be in [0, bound).
using RaiseOutside = void (*)(int64_t position, int64_t value, int64_t bound);

// The fault that a kernel found in its data, in memory that host and device
// share. Each context has one; its next Wait raises it.
struct DataFault {
  unsigned taken;
  int op_index;
  RaiseOutside raise;
  int64_t position;
  int64_t value;
  int64_t bound;
};

}  // namespace sluice
