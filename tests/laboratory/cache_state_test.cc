#include "sluice/laboratory/cache_state.h"

#include "tests/laboratory/lab_ops.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/laboratory/prediction.h"

namespace sluice::testing {
namespace {

// A chain of test_lab ops on `kSize` floats.
constexpr int64_t kSize = 1000;
constexpr int64_t kBytes = 4 * kSize;

std::vector<OperandState> StatesOfChain(int ops) {
  const LabProgram lab(kSize, ops);
  Executor executor;
  return OperandStates(*executor.Prepare(lab.program, lab.feeds, lab.fetches));
}

TEST(OperandStates, WhatWasJustWrittenIsNear) {
  const std::vector<OperandState> states = StatesOfChain(5);
  ASSERT_EQ(states.size(), 5u);
  for (size_t op = 1; op < states.size(); ++op) {
    EXPECT_EQ(states[op].inputs, (std::vector<int64_t>{0}));
  }
}

TEST(OperandStates, AFeedWasTouchedInTheRunBefore) {
  // Touched since then: the first output, and two values for each other op.
  EXPECT_EQ(StatesOfChain(5)[0].inputs,
            (std::vector<int64_t>{(1 + 2 * 4) * kBytes}));
}

TEST(OperandStates, MemoryOfTheArenaThatIsUsedAgainIsAsNearAsItsLastUse) {
  // Two buffers alternate, so an output overwrites an input of the previous op.
  const std::vector<OperandState> states = StatesOfChain(6);
  EXPECT_EQ(states[3].outputs, (std::vector<int64_t>{kBytes}));
}

TEST(ExecutorSeconds, GrowsWithInstructions) {
  const auto seconds = [](int ops) {
    const LabProgram lab(kSize, ops);
    Executor executor;
    return ExecutorSeconds(
        *executor.Prepare(lab.program, lab.feeds, lab.fetches));
  };
  EXPECT_GT(seconds(1), 0);
  EXPECT_NEAR(seconds(101) - seconds(1), 100 * (seconds(2) - seconds(1)),
              1e-12);
}

TEST(Predict, MeasuresEachKernelOnceForAllOpsThatAreAlike) {
  const LabProgram lab(kSize, 20);
  Executor executor;
  const auto plan = executor.Prepare(lab.program, lab.feeds, lab.fetches);
  const auto prediction = Predict(*plan, lab.feeds, nullptr);
  ASSERT_EQ(prediction.ops.size(), 20u);
  for (size_t op = 0; op < 20; ++op) {
    EXPECT_TRUE(prediction.measured[op]);
    EXPECT_GT(prediction.ops[op], 0);
  }
  EXPECT_EQ(prediction.ops[5], prediction.ops[15]);
  EXPECT_GT(prediction.total(), prediction.executor);
}

TEST(Predict, RefusesABudgetOfNothing) {
  const LabProgram lab(kSize, 3);
  Executor executor;
  const auto plan = executor.Prepare(lab.program, lab.feeds, lab.fetches);
  ExpectError(
      ErrorCode::kInvalidArgument, "predict.budget", {"more than 0"},
      [&] { Predict(*plan, lab.feeds, nullptr, {.budget_seconds = 0}); });
}

}  // namespace
}  // namespace sluice::testing
