#include "tests/framework/small_digits.h"
#include "tests/testing/allocation_sweep.h"
#include <gtest/gtest.h>

#include "sluice/laboratory/compare.h"
#include "sluice/laboratory/measure/profile.h"

// As tests/framework/run/fail_allocation_test.cc.
namespace sluice::testing {
namespace {

struct SmallDigitsRun {
  Program program;
  SmallDigits vars = BuildSmallDigits(&program);
  Feeds feeds = SmallDigitsFeeds();
  Fetches fetches = {vars.distance, vars.correct};
};

TEST(FailAllocationOfTheLaboratory, WhileARunIsProfiled) {
  const SmallDigitsRun run;
  const auto plan = Executor().Prepare(run.program, run.feeds, run.fetches);
  RunProfile odd = RunProfiled(*plan, run.feeds, nullptr).profile;
  for (const double factor : {1, 100}) {  // whether it shows the ops or not
    odd.total_seconds = odd.run.median * factor;
    ChromeTrace(*plan, odd);
  }
  Sweep([&] {
    // Only enough time for the warm-up runs.
    const auto profiled =
        RunProfiled(*plan, run.feeds, nullptr, {.budget_seconds = 1e-9});
    CheckSmallDigits(profiled.results[0], profiled.results[1]);
    RequireTrue(!ChromeTrace(*plan, profiled.profile).empty());
  });
}

// A zero budget, so that the number of runs does not depend on the clock.
TEST(FailAllocationOfTheLaboratory, WhileTwoWaysAreCompared) {
  const SmallDigitsRun run;
  Sweep(
      [&] {
        const auto comparison =
            Compare(run.program, run.feeds, "", "*: prefer variant=plain",
                    {.budget_seconds = 1e-9});
        RequireTrue(comparison.first_difference == -1);
      },
      7);
}

}  // namespace
}  // namespace sluice::testing
