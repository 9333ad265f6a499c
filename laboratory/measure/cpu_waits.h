#pragma once

#include <cstdint>
#include <unordered_map>

#include "sluice/platform/export.h"

namespace sluice {

// Measures how long threads of this process were ready to run while other
// threads had the CPUs. A kernel of a few microseconds on several threads takes
// as long as the scheduler makes one of them wait: often 4 ms or a multiple, in
// every call. Medians and taking turns do not help then. Linux counts the time
// for each thread (/proc/self/task/*/schedstat); elsewhere it is 0.
class SLUICE_API CpuWaits {
 public:
  CpuWaits() { Read(); }

  // Seconds, summed over all threads, since the last call or construction.
  // Costs about 20 us.
  double SinceLast() { return static_cast<double>(Read()) * 1e-9; }

  // Whether waits since the last call exceed half of the `seconds` that
  // something took. They are read only if `seconds` is long enough to tell.
  bool Disturbed(double seconds);

 private:
  int64_t Read();  // nanoseconds since the last call

  std::unordered_map<int, int64_t> waited_;  // nanoseconds, by thread
};

}  // namespace sluice
