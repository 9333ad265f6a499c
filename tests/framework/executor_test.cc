#include "sluice/framework/executor.h"

#include <cstdlib>

#include "tests/framework/test_ops.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/plan/kernel_hints.h"
#include "sluice/platform/parallel_for.h"

namespace sluice::framework {
namespace {

using platform::CUDAPlace;
using platform::ErrorCode;
using sluice::testing::Append;
using sluice::testing::ExpectError;
using sluice::testing::Floats;
using sluice::testing::Iota;

class ExecutorTest : public ::testing::Test {
 protected:
  ExecutorTest() {
    sluice::testing::UseTestOps();
    program_.Data("x", DType::kFloat32, {-1});
    out_ = Append(&program_, "test_add", {{"X", {"x"}}, {"Y", {"x"}}});
  }
  std::shared_ptr<const Plan> Prepare(int64_t size) {
    return executor_.Prepare(program_, {{"x", Iota({size})}}, {out_});
  }

  Program program_;
  std::string out_;
  Executor executor_;
};

TEST_F(ExecutorTest, RunsAProgram) {
  const auto results =
      executor_.Run(program_, {{"x", Floats({3}, {1, 2, 3})}}, {out_});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].ToVector<float>(), (std::vector<float>{2, 4, 6}));
}

// What was packed for a feed stays good.
TEST_F(ExecutorTest, ARunDoesNotCountAsAChangeOfItsFeeds) {
  const Tensor x = Floats({3}, {1, 2, 3});
  const auto before = x.storage_version();
  executor_.Run(program_, {{"x", x}}, {out_});
  EXPECT_EQ(x.storage_version(), before);
}

TEST_F(ExecutorTest, KeepsAPlanForEachShape) {
  const auto three = Prepare(3);
  const auto four = Prepare(4);
  EXPECT_NE(three, four);
  EXPECT_EQ(Prepare(3), three);
  EXPECT_EQ(Prepare(4), four);
  EXPECT_EQ(executor_.cached_plans(), 2u);
}

TEST_F(ExecutorTest, ForgetsThePlanUsedLongestAgo) {
  const auto first = Prepare(1);
  const auto second = Prepare(2);
  for (int64_t size = 3; size <= 16; ++size)
    Prepare(size);
  EXPECT_EQ(executor_.cached_plans(), 16u);
  EXPECT_EQ(Prepare(1), first);  // now the second is the oldest
  Prepare(17);
  EXPECT_EQ(executor_.cached_plans(), 16u);
  EXPECT_EQ(Prepare(1), first);
  EXPECT_NE(Prepare(2), second);
}

TEST_F(ExecutorTest, AnotherDTypeIsAnotherPlan) {
  Program program;
  program.Data("x", DType::kFloat32, {2});
  program.Data("z", DType::kFloat64, {2});
  const Tensor x = Iota({2});
  const Tensor z = Tensor::FromVector<double>({2}, {0, 1});
  const auto without = executor_.Prepare(program, {{"x", x}}, {"x"});
  const auto with = executor_.Prepare(program, {{"x", x}, {"z", z}}, {"x"});
  EXPECT_NE(with, without);
  EXPECT_NE(executor_.Prepare(program, {{"z", z}, {"x", x}}, {"x"}), with);
  EXPECT_NE(executor_.Prepare(program, {{"x", x}, {"z", z}}, {"z"}), with);
  ExpectError(ErrorCode::kInvalidArgument, "feed.dtype",
              {"feed x must be float32, got float64"}, [&] {
                executor_.Prepare(program, {{"x", z}}, {"x"});
              });
}

TEST_F(ExecutorTest, AnotherThreadCountIsAnotherPlan) {
  const int threads = platform::NumThreads();
  const auto plan = Prepare(3);
  {
    const platform::ThreadCountGuard guard(threads + 1);
    const auto other = Prepare(3);
    EXPECT_NE(other, plan);
    EXPECT_EQ(other->num_threads(), threads + 1);
  }
  EXPECT_EQ(Prepare(3), plan);
}

TEST_F(ExecutorTest, OtherHintsAreAnotherPlan) {
  const auto plan = Prepare(3);
  {
    const KernelHintGuard guard("prefer variant=wrong");
    const auto other = Prepare(3);
    EXPECT_NE(other, plan);
    EXPECT_EQ(other->decisions()[0].kernel->variant, "wrong");
  }
  EXPECT_EQ(Prepare(3), plan);
}

TEST_F(ExecutorTest, AChangedProgramIsAnotherPlan) {
  const auto plan = Prepare(3);
  program_.Hint("require variant=wrong");
  const auto changed = Prepare(3);
  EXPECT_NE(changed, plan);
  EXPECT_EQ(changed->decisions()[0].kernel->variant, "wrong");
  const Program copy = program_;
  EXPECT_NE(executor_.Prepare(copy, {{"x", Iota({3})}}, {out_}), changed);
}

TEST_F(ExecutorTest, ExplainsThePlanOfTheLastRun) {
  ExpectError(ErrorCode::kFailedPrecondition, "executor.no_plan", {},
              [&] { executor_.Explain(program_); });
  const auto three = Prepare(3);
  Prepare(4);
  Prepare(3);
  EXPECT_EQ(executor_.LastPlan(program_), three);
  EXPECT_NE(executor_.Explain(program_).find("test_add"), std::string::npos);
}

TEST_F(ExecutorTest, RefusesAFeedWithoutData) {
  ExpectError(ErrorCode::kFailedPrecondition, "feed.unallocated", {"x"}, [&] {
    executor_.Run(program_, {{"x", Tensor()}}, {out_});
  });
}

TEST_F(ExecutorTest, AnErrorDoesNotHarmTheNextRun) {
  Append(&program_, "test_fail", {{"X", {out_}}});
  const std::string end = program_.Output("Out").name();
  const Feeds feeds = {{"x", Floats({2}, {1, 2})}};
  {
    const sluice::testing::FailTestOps fail;
    ExpectError(ErrorCode::kInvalidArgument, "test_fail.told_to",
                {"in op 1 (test_fail)", "test_ops.cc"},
                [&] { executor_.Run(program_, feeds, {end}); });
  }
  EXPECT_EQ(executor_.Run(program_, feeds, {end})[0].ToVector<float>(),
            (std::vector<float>{2, 4}));
}

TEST_F(ExecutorTest, ForeignExceptionsBecomeErrors) {
  Append(&program_, "test_fail", {{"X", {out_}}}, {{"foreign", true}});
  const sluice::testing::FailTestOps fail;
  ExpectError(
      ErrorCode::kInternal, "run.foreign_exception",
      {"a foreign failure", "in op 1 (test_fail)"}, [&] {
        executor_.Run(program_, {{"x", Iota({2})}}, {program_.Output("Out")});
      });
}

TEST_F(ExecutorTest, StopsWhenToldTo) {
  SetCancelRequested(true);
  ExpectError(ErrorCode::kFailedPrecondition, "run.cancelled",
              {"in op 0 (test_add)"}, [&] {
                executor_.Run(program_, {{"x", Iota({2})}}, {out_});
              });
  SetCancelRequested(false);
  EXPECT_EQ(executor_.Run(program_, {{"x", Iota({2})}}, {out_}).size(), 1u);
}

TEST_F(ExecutorTest, RefusesADeviceThatIsNotThere) {
  EXPECT_THROW(Executor(CUDAPlace{40}), platform::Error);
}

TEST_F(ExecutorTest, APlanOutlivesProgramAndExecutor) {
  std::shared_ptr<const Plan> plan;
  {
    Program program = program_;
    Executor executor;
    plan = executor.Prepare(program, {{"x", Iota({2})}}, {out_});
  }
  EXPECT_EQ(plan->Run({{"x", Floats({2}, {3, 4})}})[0].ToVector<float>(),
            (std::vector<float>{6, 8}));
}

TEST_F(ExecutorTest, APlanRefusesOtherFeeds) {
  const auto plan = Prepare(2);
  ExpectError(ErrorCode::kInvalidArgument, "run.feed_count",
              {"takes 1 feeds, got 0"}, [&] { plan->Run({}); });
  ExpectError(ErrorCode::kInvalidArgument, "run.feed",
              {"feed 0", "x (float32 [2] at cpu)", "float32 [3] at cpu"}, [&] {
                plan->Run({{"x", Iota({3})}});
              });
  EXPECT_THROW(plan->Run({{"y", Iota({2})}}), platform::Error);
  EXPECT_THROW(plan->Run({{"x", Tensor()}}), platform::Error);
}

}  // namespace
}  // namespace sluice::framework
