#pragma once

#include <cstdint>
#include <stdexcept>

#include <gtest/gtest.h>

#include "sluice/platform/function_ref.h"

namespace sluice::testing {

struct AllocationSweep {
  int64_t allocations = 0;  // of one run of the job
  int64_t cured = 0;        // runs that a single failure did not harm
  int64_t refused = 0;      // runs that ended in a named error
};

// Runs `job` with its k-th allocation failing, for k = 1, 1 + stride, ...: once
// only, and from then on; Alloc and operator new count alike. `job`
// must throw when its result is wrong. Fails the test unless
//  - a single failure is cured or ends in a Error,
//  - a lasting one ends in a Error (or does no harm),
//  - the next run without failures is right, and
//  - nothing has leaked then: neither objects nor memory of any place.
AllocationSweep SweepAllocationFailures(FunctionRef<void()> job,
                                        int64_t stride = 1);

// The same, and fails the test unless the job allocates, and a failure of that
// became a named error.
inline void Sweep(FunctionRef<void()> job, int64_t stride = 1) {
  const AllocationSweep sweep = SweepAllocationFailures(job, stride);
  EXPECT_GT(sweep.allocations, 0);
  EXPECT_GT(sweep.refused, 0);
}

// For jobs.
inline void RequireTrue(bool right) {
  if (!right) throw std::logic_error("a wrong result");
}

}  // namespace sluice::testing
