#include "sluice/framework/run/executor.h"

#include <cstdlib>
#include <thread>

#include "tests/framework/test_ops.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/hints/kernel_hints.h"
#include "sluice/framework/program/prune.h"
#include "sluice/memory/allocator.h"
#include "sluice/platform/cancel.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

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

// Data packed for a feed remain valid.
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

TEST_F(ExecutorTest, PlansForOtherSizesShareKernelsThatDoNotChange) {
  program_.Data("y", DType::kFloat32, {3});
  const std::string same =
      Append(&program_, "test_add", {{"X", {"y"}}, {"Y", {"y"}}});
  const auto prepare = [&](int64_t size) {
    return executor_.Prepare(program_, {{"x", Iota({size})}, {"y", Iota({3})}},
                             {out_, same});
  };
  const auto five = prepare(5);
  const auto seven = prepare(7);
  ASSERT_EQ(five->ops().size(), 2u);
  EXPECT_NE(five->ops()[0].kernel, seven->ops()[0].kernel);
  EXPECT_EQ(five->ops()[1].kernel, seven->ops()[1].kernel);
  EXPECT_TRUE(five->ops()[0].sizes_change);
  EXPECT_FALSE(five->ops()[1].sizes_change);
  EXPECT_FALSE(prepare(1)->ops()[0].sizes_change);
  const auto results =
      seven->Run({{"x", Iota({7})}, {"y", Floats({3}, {1, 2, 3})}});
  EXPECT_EQ(results[0].ToVector<float>(),
            (std::vector<float>{0, 2, 4, 6, 8, 10, 12}));
  EXPECT_EQ(results[1].ToVector<float>(), (std::vector<float>{2, 4, 6}));
}

TEST_F(ExecutorTest, ForgetsThePlanUsedLongestAgo) {
  const auto first = Prepare(1);
  const auto second = Prepare(2);
  for (int64_t size = 3; size <= 1024; ++size)
    Prepare(size);
  EXPECT_EQ(executor_.cached_plans(), 1024u);
  EXPECT_EQ(Prepare(1), first);  // now the second is the oldest
  Prepare(1025);
  EXPECT_EQ(executor_.cached_plans(), 1024u);
  EXPECT_EQ(Prepare(1), first);
  EXPECT_NE(Prepare(2), second);
}

// A program with a value that an op hands to another one.
class PlanMemoryTest : public ExecutorTest {
 protected:
  PlanMemoryTest() {
    end_ = Append(&program_, "test_add", {{"X", {out_}}, {"Y", {out_}}});
  }
  void Run(Executor* executor, int64_t size) {
    const auto results = executor->Run(program_, {{"x", Iota({size})}}, {end_});
    std::vector<float> expected = Iota({size}).ToVector<float>();
    for (float& value : expected)
      value *= 4;
    EXPECT_EQ(results[0].ToVector<float>(), expected);
  }
  size_t PoolBytes() { return executor_.LastPlan(program_)->PoolBytes(); }

  std::string end_;
};

TEST_F(PlanMemoryTest, ThatPlansOutgrewGoesBackToTheSystem) {
  constexpr int64_t kMillion = 1'000'000;  // 4 MB a value
  Run(&executor_, kMillion);
  const size_t before = Stats(CPUPlace()).reserved;
  Run(&executor_, 2 * kMillion);
  // 9 MB of plans in place of 4, and a result of 8 MB; the former one of 4 MB
  // is kept.
  EXPECT_LT(Stats(CPUPlace()).reserved, before + 15 * kMillion);
}

TEST_F(PlanMemoryTest, IsSharedByThePlansOfAnExecutor) {
  Run(&executor_, 1000);
  EXPECT_EQ(PoolBytes(), executor_.LastPlan(program_)->SharedBytes());
  Run(&executor_, 4000);
  const size_t bytes = PoolBytes();
  EXPECT_GE(bytes, 16000u);
  EXPECT_LE(bytes, 18100u);  // an eighth to spare
  for (int i = 0; i < 3; ++i) {
    for (const int64_t size : {1, 500, 1000, 4000, 4090, 0}) {
      Run(&executor_, size);
    }
  }
  EXPECT_EQ(PoolBytes(), bytes);
  Run(&executor_, 50000);
  for (const int64_t size : {1, 500, 1000, 4000, 4090, 0})
    Run(&executor_, size);
  EXPECT_LE(PoolBytes(), 226000u);
}

TEST_F(PlanMemoryTest, OfRunsAtOnceIsApart) {
  std::vector<std::thread> threads;
  for (int64_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([this, thread] {
      for (int64_t i = 0; i < 200; ++i) {
        Run(&executor_, 1 + (i * 7 + thread * 131) % 900);
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_LE(PoolBytes(), 4u * 4100);
}

TEST_F(PlanMemoryTest, OfAPlanOutlivesTheExecutor) {
  auto executor = std::make_unique<Executor>();
  const Feeds feeds = {{"x", Iota({8})}};
  const auto plan = executor->Prepare(program_, feeds, {end_});
  Run(executor.get(), 100);
  executor.reset();
  EXPECT_EQ(plan->Run(feeds, nullptr)[0].ToVector<float>().back(),
            4 * Iota({8}).ToVector<float>().back());
}

TEST_F(PlanMemoryTest, HasALimit) {
  Executor executor(PlaceKey(), {.plan_memory = 10000});
  Run(&executor, 2000);
  ExpectError(ErrorCode::kResourceExhausted, "plan.memory_limit",
              {"take", "plan_memory is", "smaller batches"},
              [&] { Run(&executor, 2561); });
  // Tables of plans count, too, but the last one is kept.
  for (int64_t size = 1; size <= 10; ++size)
    Run(&executor, size);
  EXPECT_LT(executor.cached_plans(), 4u);
  EXPECT_GE(executor.cached_plans(), 1u);
  Run(&executor, 2000);
}

TEST_F(ExecutorTest, TheOrderOfFeedsDoesNotMatter) {
  Program program;
  for (const char* name : {"x", "y", "z"}) {
    program.Data(name, DType::kFloat32, {-1});
  }
  const std::string sum =
      Append(&program, "test_add", {{"X", {"x"}}, {"Y", {"y"}}});
  const std::string out =
      Append(&program, "test_add", {{"X", {sum}}, {"Y", {"z"}}});
  const Tensor x = Floats({1}, {1});
  const Tensor y = Floats({1}, {20});
  const Tensor z = Floats({1}, {300});
  const Feeds first = {{"x", x}, {"y", y}, {"z", z}};
  const Feeds second = {{"z", z}, {"x", x}, {"y", y}};
  const auto plan = executor_.Prepare(program, first, {out, "y"});
  Prepare(7);  // another one is first
  EXPECT_EQ(executor_.Prepare(program, second, {out, "y"}), plan);
  EXPECT_EQ(executor_.cached_plans(), 2u);
  for (const Feeds& feeds : {first, second}) {
    const auto results = executor_.Run(program, feeds, {out, "y"});
    EXPECT_EQ(results[0].ToVector<float>(), (std::vector<float>{321}));
    EXPECT_EQ(results[1].ToVector<float>(), (std::vector<float>{20}));
  }
  ExpectError(ErrorCode::kInvalidArgument, "feed.twice", {"feed x"}, [&] {
    executor_.Run(program, {{"z", z}, {"x", x}, {"x", x}}, {out, "y"});
  });
}

TEST_F(ExecutorTest, FetchesOfAnotherProgramAreNamed) {
  Program other;
  const Var stranger = other.Data("stranger", DType::kFloat32, {1});
  ExpectError(ErrorCode::kNotFound, "fetch.other_program",
              {"fetch stranger", "another program"}, [&] {
                executor_.Run(program_, {{"x", Iota({2})}}, {stranger});
              });
  // One of the same name is another variable, also for a plan that is kept.
  const Feeds feeds = {{"x", Floats({1}, {2})}};
  executor_.Run(program_, feeds, {out_});
  Program same;
  same.Data("x", DType::kFloat32, {2});
  const Var other_out =
      same.Find(Append(&same, "test_add", {{"X", {"x"}}, {"Y", {"x"}}}));
  ASSERT_EQ(other_out.name(), out_);
  ExpectError(ErrorCode::kNotFound, "fetch.other_program",
              {"fetch " + out_ + " is a variable of another program"},
              [&] { executor_.Run(program_, feeds, {other_out}); });
  // A copy has the variables of its original.
  Program copy = program_.CloneForTest();
  Program pruned = Prune(copy, {out_});
  EXPECT_NO_THROW(executor_.Run(pruned, feeds, {program_.Find(out_)}));
  ExpectError(ErrorCode::kNotFound, "fetch.other_program", {"another program"},
              [&] { executor_.Run(copy, feeds, {other_out}); });
  // What is added to both afterwards is not the same.
  const Var later = copy.Find(Append(&copy, "test_divide", {{"X", {out_}}}));
  Append(&program_, "test_divide", {{"X", {out_}}});
  ExpectError(ErrorCode::kNotFound, "fetch.other_program", {"another program"},
              [&] { executor_.Run(program_, feeds, {later}); });
  EXPECT_EQ(
      executor_.Run(copy, {{"x", Floats({1}, {2})}}, {program_.Find(out_)})[0]
          .ToVector<float>(),
      (std::vector<float>{4}));
}

TEST_F(ExecutorTest, AVariableIsFetchedFromAProgramThatWasMoved) {
  struct Net {
    Program program;
    Var x;
  };
  std::vector<Net> nets;
  for (int i = 0; i < 3; ++i) {  // the vector moves what it has to grow
    Net net;
    net.x = net.program.Data("x", DType::kFloat32, {1});
    nets.push_back(std::move(net));
  }
  const Feeds feeds = {{"x", Floats({1}, {2})}};
  for (const Net& net : nets) {
    EXPECT_EQ(executor_.Run(net.program, feeds, {net.x})[0].ToVector<float>(),
              (std::vector<float>{2}));
  }
  ExpectError(ErrorCode::kNotFound, "fetch.other_program", {"another program"},
              [&] { executor_.Run(nets[0].program, feeds, {nets[1].x}); });
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
  EXPECT_EQ(executor_.Prepare(program, {{"z", z}, {"x", x}}, {"x"}), with);
  EXPECT_NE(executor_.Prepare(program, {{"x", x}, {"z", z}}, {"z"}), with);
  ExpectError(ErrorCode::kInvalidArgument, "feed.dtype",
              {"feed x must be float32, got float64"}, [&] {
                executor_.Prepare(program, {{"x", z}}, {"x"});
              });
}

TEST_F(ExecutorTest, AnotherThreadCountIsAnotherPlan) {
  const int threads = NumThreads();
  const auto plan = Prepare(3);
  {
    const ThreadCountGuard guard(threads + 1);
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
  EXPECT_THROW(Executor(CUDAPlace{40}), Error);
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
  EXPECT_THROW(plan->Run({{"y", Iota({2})}}), Error);
  EXPECT_THROW(plan->Run({{"x", Tensor()}}), Error);
}

class FeedCheckTest : public ::testing::Test {
 protected:
  FeedCheckTest() {
    sluice::testing::UseTestOps();
    program_.Data("x", DType::kFloat32, {-1, 2}, "user.cc", 3);
    program_.Data("y", DType::kFloat32, {-1, 2}, "user.cc", 4);
    out_ = Append(&program_, "test_add", {{"X", {"x"}}, {"Y", {"y"}}});
  }
  void Refused(ErrorCode code,
               const char* check_id,
               std::initializer_list<std::string_view> fragments,
               const Feeds& feeds) {
    ExpectError(code, check_id, fragments,
                [&] { executor_.Run(program_, feeds, {out_}); });
  }

  Program program_;
  std::string out_;
  Executor executor_;
};

TEST_F(FeedCheckTest, NamesTheLineOfTheVariable) {
  Refused(ErrorCode::kInvalidArgument, "feed.shape",
          {"feed x must have shape [?, 2], got [2, 3]", "user.cc:3"},
          {{"x", Iota({2, 3})}});
  Refused(ErrorCode::kInvalidArgument, "feed.dtype",
          {"feed y must be float32, got float64", "user.cc:4"},
          {{"y", Tensor::FromVector<double>({1, 2}, {1, 2})}});
  Refused(ErrorCode::kNotFound, "feed.missing",
          {"y (float32 [?, 2], created at user.cc:4) must be fed"},
          {{"x", Iota({2, 2})}});
}

TEST_F(FeedCheckTest, SuggestsWhatCanBeFedOnly) {
  try {
    executor_.Run(program_, {{"z", Iota({2, 2})}}, {out_});
    FAIL() << "z was fed";
  } catch (const Error& error) {
    EXPECT_EQ(error.check_id(), "feed.unknown");
    EXPECT_EQ(std::string(error.what()),
              "feed z: the program has no such variable to feed; there are x, "
              "y");
  }
}

TEST_F(FeedCheckTest, RefusesWhatIsNotFedAndWhatIsFedTwice) {
  Refused(ErrorCode::kInvalidArgument, "feed.not_data", {out_},
          {{out_, Iota({2, 2})}});
  Refused(ErrorCode::kInvalidArgument, "feed.twice", {"feed x"},
          {{"x", Iota({2, 2})}, {"x", Iota({2, 2})}});
}

TEST_F(FeedCheckTest, RowsThatDifferAreNamed) {
  try {
    executor_.Run(program_, {{"x", Iota({4, 2})}, {"y", Iota({3, 2})}}, {out_});
    FAIL() << "4 and 3 rows were added";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("test_add"), text.npos) << text;
    EXPECT_NE(text.find("feed x has 4 rows, feed y has 3"), text.npos) << text;
  }
}

}  // namespace
}  // namespace sluice
