#pragma once

#include <cstdint>

#include "sluice/memory/testing.h"

// A program that links this has an operator new which counts what is alive and
// takes part in memory::FailAllocation, libsluice.so's included.
namespace sluice::testing {

// Objects and arrays from operator new that are not deleted yet.
int64_t LiveAllocations();

// Counts allocations, and fails the k-th if k > 0, until it goes.
class ScopedFailAllocation {
 public:
  ScopedFailAllocation(int64_t k, memory::FailMode mode) {
    memory::FailAllocation(k, mode);
  }
  ~ScopedFailAllocation() { memory::CancelFailAllocation(); }
  ScopedFailAllocation(const ScopedFailAllocation&) = delete;
  ScopedFailAllocation& operator=(const ScopedFailAllocation&) = delete;
};

}  // namespace sluice::testing
