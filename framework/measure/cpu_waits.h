#pragma once

#include <cstdint>
#include <unordered_map>

#include "sluice/platform/export.h"

namespace sluice::framework {

// How long threads of this process were ready to run while others had the
// CPUs. A kernel of a few microseconds on several threads takes as long as the
// scheduler lets one of them wait, often 4 ms or a multiple of it, in every
// call: neither medians nor taking turns help then. Linux counts it for each
// thread (/proc/self/task/*/schedstat); elsewhere no time is ever found.
class SLUICE_API CpuWaits {
 public:
  CpuWaits() { Read(); }

  // Seconds since the last call, or since this was made: of all threads
  // together. Takes some 20 us.
  double SinceLast() { return static_cast<double>(Read()) * 1e-9; }

  // Whether waits since the last call were more than half of the `seconds` that
  // something took; they are only read where that is long enough to tell.
  bool Disturbed(double seconds);

 private:
  int64_t Read();  // nanoseconds since the last

  std::unordered_map<int, int64_t> waited_;  // nanoseconds, by thread
};

}  // namespace sluice::framework
