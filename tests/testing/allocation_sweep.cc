#include "tests/testing/allocation_sweep.h"

#include <exception>
#include <string>

#include "tests/testing/counting_new.h"
#include <gtest/gtest.h>

#include "sluice/memory/allocator.h"
#include "sluice/memory/memory.h"
#include "sluice/platform/device.h"
#include "sluice/platform/error.h"

namespace sluice::testing {
namespace {

// What is alive when nothing is cached that can be given up.
struct Holdings {
  int64_t objects = 0;
  size_t bytes = 0;
  bool operator==(const Holdings&) const = default;
};

Holdings Count() {
  Holdings holdings;
  for (auto place : platform::DeviceManager::Instance().Places()) {
    memory::ReleaseCache(place);
    holdings.bytes += memory::Used(place);
  }
  holdings.objects = LiveAllocations();
  return holdings;
}

enum class Outcome { kDone, kNamedError, kOther };

Outcome RunFailing(platform::FunctionRef<void()> job,
                   int64_t k,
                   memory::FailMode mode,
                   std::string* problem) {
  Outcome outcome = Outcome::kDone;
  std::exception_ptr caught;
  {
    const ScopedFailAllocation fail(k, mode);
    try {
      job();
    } catch (const platform::Error&) {
      outcome = Outcome::kNamedError;
    } catch (...) {
      outcome = Outcome::kOther;
      caught = std::current_exception();
    }
  }
  if (outcome == Outcome::kOther) {
    try {
      std::rethrow_exception(caught);
    } catch (const std::exception& error) {
      *problem = error.what();
    } catch (...) {
      *problem = "not even a std::exception";
    }
  }
  return outcome;
}

}  // namespace

AllocationSweep SweepAllocationFailures(platform::FunctionRef<void()> job,
                                        int64_t stride) {
  AllocationSweep sweep;
  job();  // what is made once and kept
  const Holdings before = Count();
  {
    const ScopedFailAllocation count(0, memory::FailMode::kOnce);
    job();
    sweep.allocations = memory::AllocationCount();
  }
  for (int64_t k = 1; k <= sweep.allocations; k += stride) {
    for (auto mode : {memory::FailMode::kOnce, memory::FailMode::kFromKOn}) {
      SCOPED_TRACE(platform::Format(
          "allocation {} of {} failing {}", k, sweep.allocations,
          mode == memory::FailMode::kOnce ? "once" : "from then on"));
      std::string problem;
      const Outcome outcome = RunFailing(job, k, mode, &problem);
      EXPECT_NE(outcome, Outcome::kOther) << "no named error: " << problem;
      ++(outcome == Outcome::kDone ? sweep.cured : sweep.refused);
      try {
        job();
      } catch (const std::exception& error) {
        ADD_FAILURE() << "the next run failed: " << error.what();
      }
      const Holdings after = Count();
      EXPECT_EQ(after.bytes, before.bytes) << "bytes of memory leaked";
      EXPECT_EQ(after.objects, before.objects) << "objects leaked";
      if (::testing::Test::HasFailure()) return sweep;
    }
  }
  return sweep;
}

}  // namespace sluice::testing
