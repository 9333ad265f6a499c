#pragma once

#include <cstdint>

#include "sluice/memory/testing.h"

// A program that links this has an operator new, also for libsluice.so, that
// counts live objects and supports FailAllocation.
namespace sluice::testing {

// Objects and arrays from operator new that are not deleted yet.
int64_t LiveAllocations();

// During its lifetime, counts allocations, and fails the k-th if k > 0.
class ScopedFailAllocation {
 public:
  ScopedFailAllocation(int64_t k, FailMode mode) { FailAllocation(k, mode); }
  ~ScopedFailAllocation() { CancelFailAllocation(); }
  ScopedFailAllocation(const ScopedFailAllocation&) = delete;
  ScopedFailAllocation& operator=(const ScopedFailAllocation&) = delete;
};

}  // namespace sluice::testing
