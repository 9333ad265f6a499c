#include <string>
#include <vector>

#include "tests/operators/collective/twin_world.h"
#include "tests/testing/expect_error.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/framework/inspect/explain.h"
#include "sluice/framework/plan/plan.h"
#include "sluice/framework/run/executor.h"
#include "sluice/platform/error.h"

// Collective ops in a plan.
namespace sluice {
namespace {

using sluice::testing::ExpectError;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Values = std::vector<float>;

class CollectivePlanTest : public ::testing::Test {
 protected:
  CollectivePlanTest() { program_.Data("x", DType::kFloat32, {2}); }

  std::string Scaled(const std::string& x, double scale) {
    return program_.AppendOp("scale", {{"X", {x}}}, {{"scale", scale}})
        .Output("Out")[0];
  }
  ArgVars Sums(ArgVars x) {
    return program_.AppendOp("c_allreduce_sum", {{"X", std::move(x)}})
        .Output("Out");
  }
  std::vector<Tensor> Run(const Fetches& fetches) {
    return executor_.Run(
        program_, {{"x", Tensor::FromVector<float>({2}, {1, 2})}}, fetches);
  }

  sluice::testing::TwinWorld world_;
  Program program_;
  Executor executor_;
};

TEST_F(CollectivePlanTest, WaitsForTheSumBeforeItsFirstReader) {
  const std::string sum = Sums({Scaled("x", 3)})[0];
  const std::string after = Scaled(sum, 10);
  const auto results = Run({after, sum});
  EXPECT_EQ(results[0].ToVector<float>(), (Values{60, 120}));
  EXPECT_EQ(results[1].ToVector<float>(), (Values{6, 12}));
  EXPECT_THAT(world_.LabelOf(0), HasSubstr("op 1 (c_allreduce_sum)"));
}

TEST_F(CollectivePlanTest, StartsAsSoonAsItsInputsAreThere) {
  const std::string first = Scaled("x", 1);
  const std::string second = Scaled("x", 2);
  const std::string third = Scaled(second, 2);
  const std::string sum = Sums({first})[0];
  const std::string other = Sums({second})[0];
  Run({third, sum, other});
  const auto plan = executor_.Prepare(
      program_, {{"x", Tensor::FromVector<float>({2}, {1, 2})}},
      {third, sum, other});
  std::vector<int> ops;
  for (const PlannedOp& op : plan->ops()) {
    ops.push_back(op.op_index);
  }
  EXPECT_THAT(ops, ElementsAre(0, 3, 1, 4, 2));
  EXPECT_THAT(world_.log,
              ElementsAre("start 0", "start 1", "wait 0", "wait 1"));
}

TEST_F(CollectivePlanTest, WhatIsReadTogetherLiesSideBySideAndIsOneMessage) {
  const auto sums = Sums({Scaled("x", 1), Scaled("x", 2), Scaled("x", 3)});
  std::vector<std::string> after;
  for (const std::string& sum : sums) {
    after.push_back(Scaled(sum, 1));
  }
  const auto results = Run({after[0], after[1], after[2]});
  EXPECT_EQ(results[2].ToVector<float>(), (Values{6, 12}));
  EXPECT_EQ(results[1].ToVector<float>(), (Values{4, 8}));
  EXPECT_EQ(results[0].ToVector<float>(), (Values{2, 4}));
  // Each part begins at a multiple of 64 bytes.
  EXPECT_THAT(world_.counts, ElementsAre(16 + 16 + 2));
}

TEST_F(CollectivePlanTest, WhatOthersReadTooIsNotWrittenOver) {
  const std::string x = Scaled("x", 1);
  const std::string y = Scaled("x", 2);
  const auto sums = Sums({x, y});
  const std::string after = Scaled(x, 5);
  const auto results = Run({after, sums[0], sums[1]});
  EXPECT_EQ(results[0].ToVector<float>(), (Values{5, 10}));
  EXPECT_EQ(results[1].ToVector<float>(), (Values{2, 4}));
  EXPECT_EQ(results[2].ToVector<float>(), (Values{4, 8}));
}

TEST_F(CollectivePlanTest, TheSameValueTwiceIsNotWrittenOver) {
  const std::string x = Scaled("x", 1);
  const auto sums = Sums({x, x});
  const auto results = Run({Scaled(sums[0], 1), Scaled(sums[1], 10)});
  EXPECT_EQ(results[0].ToVector<float>(), (Values{2, 4}));
  EXPECT_EQ(results[1].ToVector<float>(), (Values{20, 40}));
}

TEST_F(CollectivePlanTest, EachRunBeginsWithWhatRanksMustAgreeOn) {
  const std::string x = Scaled("x", 1);
  const std::string sum = Sums({x})[0];
  Run({sum});
  Run({sum});
  ASSERT_EQ(world_.parts.size(), 2u);
  EXPECT_EQ(world_.parts[0], world_.parts[1]);
  std::vector<std::string> lines;
  for (const Part::Line& line : world_.parts[0]->lines()) {
    lines.push_back(line.text);
    EXPECT_THAT(line.where, HasSubstr("collective_plan_test.cc:"));
  }
  EXPECT_THAT(
      lines,
      ElementsAre(
          Format("op 0: {} = scale(X=x, bias=0, "
                 "bias_after_scale=true, scale=1)",
                 x),
          Format("op 1: {} = c_allreduce_sum(X={}, ordered=false)", sum, x),
          "op 1 (c_allreduce_sum) exchanges float32 [2]"));
  EXPECT_GT(world_.advances, 0);
}

TEST_F(CollectivePlanTest, AnotherProgramIsAnotherPart) {
  const std::string sum = Sums({Scaled("x", 1)})[0];
  Run({sum});
  Scaled("x", 2);
  Run({sum});
  EXPECT_NE(world_.parts[0]->Digest(), world_.parts[1]->Digest());
}

// Each rank may draw its own numbers.
TEST_F(CollectivePlanTest, SeedsAreNotCompared) {
  const std::string x =
      program_.AppendOp("dropout", {{"X", {"x"}}}, {{"seed", int64_t{3}}})
          .Output("Out")[0];
  Run({Sums({x})[0]});
  EXPECT_THAT(world_.parts[0]->lines()[0].text, HasSubstr("= dropout(X=x"));
  EXPECT_THAT(world_.parts[0]->lines()[0].text,
              ::testing::Not(HasSubstr("seed")));
}

TEST_F(CollectivePlanTest, WhereRanksStartIsComparedOnceAScope) {
  const auto lines_about = [&](const char* name) {
    int count = 0;
    for (const Part::Line& line : world_.parts.back()->lines()) {
      count += line.text.find(std::string(name) + " (float32 [2]) starts") == 0;
    }
    return count;
  };
  for (const char* name : {"w", "v"}) {
    program_.Persistable(name, DType::kFloat32, {2});
    *executor_.scope().Var(name).GetMutable<Tensor>() =
        Tensor::FromVector<float>({2}, {1, 2});
  }
  program_.SetReplicated("w");
  const std::string w = Scaled("w", 2);
  const std::string sum = Sums({w, Scaled("v", 2)})[0];
  Run({sum});
  EXPECT_EQ(lines_about("w"), 1);
  EXPECT_EQ(lines_about("v"), 0);
  const uint64_t first = world_.parts.back()->Digest();
  Run({sum});
  EXPECT_EQ(lines_about("w"), 0);
  // Another list of variables.
  program_.SetReplicated("v");
  executor_.scope().Var("w").GetMutable<Tensor>()->mutable_data<float>(
      CPUPlace())[1] = 3;
  Run({sum});
  EXPECT_EQ(lines_about("w"), 1);
  EXPECT_EQ(lines_about("v"), 1);
  EXPECT_NE(world_.parts.back()->Digest(), first);
}

TEST_F(CollectivePlanTest, ARunThatFailsBeforeItBeginsIsNoted) {
  const std::string sum = Sums({Scaled("x", 1)})[0];
  const Tensor three = Tensor::FromVector<float>({3}, {1, 2, 3});
  ExpectError(ErrorCode::kInvalidArgument, "feed.shape", {"feed x"}, [&] {
    executor_.Run(program_, {{"x", three}}, {sum});
  });
  EXPECT_THAT(world_.failed, ElementsAre(HasSubstr("feed x")));
  EXPECT_EQ(world_.runs, 1);
  EXPECT_TRUE(world_.parts.empty());
  EXPECT_EQ(world_.failure, "");
  Program other;
  other.Data("x", DType::kFloat32, {2});
  ExpectError(ErrorCode::kInvalidArgument, "feed.shape", {"feed x"}, [&] {
    executor_.Run(other, {{"x", three}}, {"x"});
  });
  EXPECT_EQ(world_.failed.size(), 1u);
  EXPECT_EQ(world_.runs, 1);
}

TEST_F(CollectivePlanTest, WithoutCollectivesNothingIsAgreedOn) {
  Run({Scaled("x", 1)});
  EXPECT_TRUE(world_.parts.empty());
  EXPECT_EQ(world_.advances, 0);
}

TEST_F(CollectivePlanTest, AFailedRunIsToldToTheOtherRanks) {
  const std::string sum = Sums({Scaled("x", 1)})[0];
  world_.wait_fails = "the cable is out";
  ExpectError(ErrorCode::kFailedPrecondition, "test.wait", {"the cable is out"},
              [&] { Run({sum}); });
  EXPECT_THAT(world_.failure, HasSubstr("the cable is out"));
}

TEST_F(CollectivePlanTest, ExplainSaysWhatIsExchanged) {
  const std::string sum = Sums({Scaled("x", 1)})[0];
  const auto plan = executor_.Prepare(
      program_, {{"x", Tensor::FromVector<float>({2}, {1, 2})}}, {sum});
  EXPECT_THAT(ExplainText(*plan),
              HasSubstr("op 1 (c_allreduce_sum) exchanges 8 bytes"));
}

TEST_F(CollectivePlanTest, AttributesAreHeldAgainstTheNumberOfRanks) {
  const std::string x = Scaled("x", 1);
  const auto gathered =
      program_.AppendOp("c_allgather", {{"X", {x}}}, {{"nranks", int64_t{3}}})
          .Output("Out");
  ExpectError(ErrorCode::kInvalidArgument, "collective.nranks",
              {"nranks = 3", "2 ranks"}, [&] { Run({gathered[0]}); });
  const auto given =
      program_.AppendOp("c_broadcast", {{"X", {x}}}, {{"root", int64_t{2}}})
          .Output("Out");
  ExpectError(ErrorCode::kInvalidArgument, "collective.root",
              {"root = 2", "below 2"}, [&] { Run({given[0]}); });
}

TEST_F(CollectivePlanTest, GathersTheParts) {
  const auto gathered = program_
                            .AppendOp("c_allgather", {{"X", {Scaled("x", 1)}}},
                                      {{"nranks", int64_t{2}}})
                            .Output("Out");
  EXPECT_EQ(Run({gathered[0]})[0].ToVector<float>(), (Values{1, 2, 1, 2}));
}

}  // namespace
}  // namespace sluice
