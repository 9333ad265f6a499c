#include "tests/testing/allocation_sweep.h"

#include <cstring>
#include <exception>

#include "tests/testing/counting_new.h"
#include <gtest/gtest.h>

#include "sluice/memory/allocator.h"
#include "sluice/memory/memory.h"
#include "sluice/platform/error.h"

namespace sluice::testing {
namespace {

// The live objects and bytes after all caches are emptied.
struct Holdings {
  int64_t objects = 0;
  size_t bytes = 0;
  bool operator==(const Holdings&) const = default;
};

Holdings Count() {
  Holdings holdings;
  for (auto place : UsedPlaces()) {
    ReleaseCache(place);
    holdings.bytes += Used(place);
  }
  holdings.objects = LiveAllocations();
  return holdings;
}

// The outcome of one run, in memory that Count does not see.
struct Outcome {
  enum { kDone, kNamedError, kOther } kind = kDone;
  char text[200] = "";

  void Note(const char* what) { std::strncpy(text, what, sizeof(text) - 1); }
};

Outcome Run(FunctionRef<void()> job) {
  Outcome outcome;
  try {
    job();
  } catch (const Error& error) {
    outcome.kind = Outcome::kNamedError;
    outcome.Note(error.what());
  } catch (const std::exception& error) {
    outcome.kind = Outcome::kOther;
    outcome.Note(error.what());
  } catch (...) {
    outcome.kind = Outcome::kOther;
    outcome.Note("not even a std::exception");
  }
  return outcome;
}

}  // namespace

AllocationSweep SweepAllocationFailures(FunctionRef<void()> job,
                                        int64_t stride) {
  AllocationSweep sweep;
  {
    SCOPED_TRACE("what is made once and kept, here and by the job");
    job();
  }
  const Holdings before = Count();
  {
    const ScopedFailAllocation count(0, FailMode::kOnce);
    job();
    sweep.allocations = AllocationCount();
  }
  for (int64_t k = 1; k <= sweep.allocations; k += stride) {
    for (auto mode : {FailMode::kOnce, FailMode::kFromKOn}) {
      FailAllocation(k, mode);
      const Outcome failing = Run(job);
      CancelFailAllocation();
      const Outcome next = Run(job);
      const Holdings after = Count();

      SCOPED_TRACE(Format("allocation {} of {} failing {}", k,
                          sweep.allocations,
                          mode == FailMode::kOnce ? "once" : "from then on"));
      EXPECT_NE(failing.kind, Outcome::kOther)
          << "expected a platform::Error, got: " << failing.text;
      EXPECT_EQ(next.kind, Outcome::kDone)
          << "the next run failed: " << next.text;
      EXPECT_EQ(after.bytes, before.bytes) << "memory leaked";
      EXPECT_EQ(after.objects, before.objects) << "objects leaked";
      if (::testing::Test::HasFailure()) return sweep;
      ++(failing.kind == Outcome::kDone ? sweep.cured : sweep.refused);
    }
  }
  return sweep;
}

}  // namespace sluice::testing
