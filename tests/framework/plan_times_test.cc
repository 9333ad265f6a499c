#include "sluice/framework/inspect/plan_times.h"

#include <cmath>
#include <limits>
#include <span>

#include "tests/framework/test_ops.h"
#include "tests/testing/expect_error.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sluice/framework/executor.h"
#include "sluice/framework/inspect/explain.h"

namespace sluice::framework {
namespace {

using nlohmann::json;
using platform::ErrorCode;
using sluice::testing::Append;
using sluice::testing::ExpectError;
using sluice::testing::Iota;
using ::testing::Each;
using ::testing::Gt;

class PlanTimesTest : public ::testing::Test {
 protected:
  PlanTimesTest() {
    sluice::testing::UseTestOps();
    program_.Data("x", DType::kFloat32, {2, 3});
    const std::string sum =
        Append(&program_, "test_add", {{"X", {"x"}}, {"Y", {"x"}}});
    const std::string end =
        Append(&program_, "manhattan_distance", {{"X", {sum}}, {"Y", {"x"}}},
               {}, "require place=fpga:0");
    Append(&program_, "test_divide", {{"X", {"x"}}});
    plan_ = executor_.Prepare(program_, feeds_, {end});
  }

  PlanTimes Time(double budget) {
    const Plan* plan = plan_.get();
    return TimePlans(std::span(&plan, 1), feeds_, nullptr, budget)[0];
  }

  Program program_;
  Executor executor_;
  const Feeds feeds_ = {{"x", Iota({2, 3})}};
  std::shared_ptr<const Plan> plan_;
};

TEST_F(PlanTimesTest, HaveAnIntervalForTheRunEachInstructionAndEachOp) {
  const PlanTimes times = Time(0.2);
  EXPECT_GE(times.run.rounds, 5);
  EXPECT_GT(times.run.low, 0);
  EXPECT_LE(times.run.low, times.run.median);
  EXPECT_LE(times.run.median, times.run.high);
  ASSERT_EQ(times.instructions.size(), plan_->instructions().size());
  for (const MedianTime& time : times.instructions) {
    EXPECT_GT(time.low, 0);
    EXPECT_LE(time.low, time.median);
    EXPECT_LE(time.median, time.high);
  }
  ASSERT_EQ(times.ops.size(), 3u);
  // Its inputs are copied, too.
  EXPECT_GT(times.ops[1].median, times.ops[0].low);
  EXPECT_EQ(times.ops[2].median, 0) << "nobody needs it";
}

TEST_F(PlanTimesTest, TheTypicalRunIsOneOfThoseWithAClock) {
  const PlanTimes times = Time(0.2);
  EXPECT_GE(times.profiled_runs, 1);
  EXPECT_THAT(times.typical.seconds, Each(Gt(0)));
  EXPECT_EQ(times.typical.seconds.size(), plan_->instructions().size());
  // Half of the runs take at most as long as the median, and so does it.
  EXPECT_LE(times.typical.total_seconds, 2 * times.profiled.high);
}

TEST_F(PlanTimesTest, TheShortestBudgetStillRunsOnce) {
  const PlanTimes times = Time(1e-9);
  EXPECT_GE(times.profiled_runs, 1);
  EXPECT_GT(times.ops[0].median, 0);
}

TEST_F(PlanTimesTest, PlansTakeTurns) {
  Executor other;
  const auto second = other.Prepare(program_, feeds_, {});
  const std::vector<const Plan*> plans = {plan_.get(), second.get()};
  const auto times = TimePlans(plans, feeds_, nullptr, 0.2);
  ASSERT_EQ(times.size(), 2u);
  EXPECT_EQ(times[0].instructions.size(), plan_->instructions().size());
  EXPECT_EQ(times[1].instructions.size(), second->instructions().size());
}

TEST_F(PlanTimesTest, LeaveTheScopeAlone) {
  Program program;
  program.Data("x", DType::kFloat32, {2, 3});
  program.Persistable("total", DType::kFloat32, {2, 3});
  program.AppendOp("test_update", {{"Param", {"total"}}, {"Delta", {"x"}}}, {},
                   {}, {{"ParamOut", {"total"}}});
  Scope scope;
  *scope.Var("total").GetMutable<Tensor>() = Iota({2, 3});
  const auto plan = executor_.Prepare(program, feeds_, {});
  const Plan* one = plan.get();
  const auto before = scope.FindVar("total")->Get<Tensor>()->ToVector<float>();
  TimePlans(std::span(&one, 1), feeds_, &scope, 0.05);
  EXPECT_EQ(scope.FindVar("total")->Get<Tensor>()->ToVector<float>(), before);
}

TEST_F(PlanTimesTest, ABudgetOfNothingIsRefused) {
  for (const double budget :
       {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    ExpectError(ErrorCode::kInvalidArgument, "plan_times.budget",
                {"more than 0 seconds"}, [&] { Time(budget); });
  }
}

TEST_F(PlanTimesTest, NoPlansAreRefused) {
  ExpectError(ErrorCode::kInvalidArgument, "plan_times.plans",
              {"at least one plan"},
              [&] { TimePlans({}, feeds_, nullptr, 1); });
}

TEST_F(PlanTimesTest, WhatARunRaisesIsRaised) {
  const Feeds wrong = {{"x", Iota({4, 3})}};
  const Plan* plan = plan_.get();
  EXPECT_THROW(TimePlans(std::span(&plan, 1), wrong, nullptr, 0.1),
               platform::Error);
}

TEST_F(PlanTimesTest, AreInTheJson) {
  const PlanTimes times = Time(0.1);
  ExplainJsonOptions options;
  options.times = &times;
  const json plan = json::parse(ExplainJson(*plan_, options));
  EXPECT_EQ(plan["times"]["run"]["median"], times.run.median);
  EXPECT_EQ(plan["times"]["profiled_runs"], times.profiled_runs);
  EXPECT_EQ(plan["ops"][1]["measured"]["median"], times.ops[1].median);
  EXPECT_EQ(plan["ops"][1]["measured"]["high"], times.ops[1].high);
  EXPECT_EQ(plan["instructions"][0]["seconds"], times.instructions[0].median);
}

}  // namespace
}  // namespace sluice::framework
