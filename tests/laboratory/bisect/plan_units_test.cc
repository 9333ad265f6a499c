#include "sluice/laboratory/bisect/plan_units.h"

#include <memory>

#include "tests/framework/test_ops.h"
#include "tests/testing/expect_error.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/framework/op/registry.h"
#include "sluice/framework/plan/graph.h"
#include "sluice/laboratory/bisect/golden_values.h"
#include "sluice/laboratory/bisect/plan_slice.h"
#include "sluice/platform/error.h"

namespace sluice {
namespace {

using sluice::testing::Append;
using sluice::testing::ExpectError;
using sluice::testing::Iota;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// scale, relu and pool2d; tests append more ops.
class PlanUnitsTest : public ::testing::Test {
 protected:
  PlanUnitsTest() {
    sluice::testing::UseTestOps();
    program_.Data("x", DType::kFloat32, {1, 1, 4, 4});
    scaled_ = Append(&program_, "scale", {{"X", {"x"}}}, {{"scale", 2.0}});
    relu_ = Append(&program_, "relu", {{"X", {scaled_}}});
    pooled_ = Append(&program_, "pool2d", {{"X", {relu_}}}, Windows());
  }

  static AttributeMap Windows() {
    using Ints = std::vector<int64_t>;
    return {{"ksize", Ints{2, 2}}, {"strides", Ints{2, 2}}};
  }

  void Train() {
    program_.Data("grad", DType::kFloat32, {1, 1, 2, 2});
    feeds_.emplace_back("grad", Iota({1, 1, 2, 2}));
    const std::string pool_grad =
        Append(&program_, "pool2d_grad",
               {{"X", {relu_}}, {"Out", {pooled_}}, {"Out@GRAD", {"grad"}}},
               Windows());
    end_ = Append(&program_, "relu_grad",
                  {{"Out", {relu_}}, {"Out@GRAD", {pool_grad}}});
  }

  // Plans without and with the fusion, or vice versa.
  PlanPair Pair(bool fused_in_a) {
    const char* none =
        "prefer library=PLAIN; exclude pass=fuse_elementwise; "
        "exclude pass=relu_pool2d";
    const char* fused = "prefer library=PLAIN; exclude pass=fuse_elementwise";
    const Fetches fetches = {pooled_, end_};
    a_ = PrepareWith(program_, feeds_, fetches, fused_in_a ? fused : none, {});
    b_ = PrepareWith(program_, feeds_, fetches, fused_in_a ? none : fused, {});
    return {program_, *a_, *b_};
  }

  // The types of the ops of each unit.
  static std::vector<std::string> Text(const PlanPair& pair) {
    std::vector<std::string> text;
    for (const PlanUnit& unit : pair.units()) {
      text.push_back(Types(pair.a(), unit.a) + "| " + Types(pair.b(), unit.b));
    }
    return text;
  }
  static std::string Types(const Plan& plan, const std::vector<int>& ops) {
    std::string types;
    for (const int op : ops) {
      types += plan.decisions()[op].op + " ";
    }
    return types;
  }

  Program program_;
  std::string scaled_, relu_, pooled_, end_;
  Feeds feeds_ = {{"x", Iota({1, 1, 4, 4})}};
  std::shared_ptr<const Plan> a_, b_;
};

TEST_F(PlanUnitsTest, AGradientIsNotJoinedToWhatItReadsOfTheWayForward) {
  Train();
  EXPECT_THAT(Text(Pair(true)),
              ElementsAre("scale | scale ", "relu_pool2d | relu pool2d ",
                          "relu_pool2d_grad | pool2d_grad relu_grad "));
  EXPECT_THAT(Text(Pair(false)),
              ElementsAre("scale | scale ", "relu pool2d | relu_pool2d ",
                          "pool2d_grad relu_grad | relu_pool2d_grad "));
}

TEST_F(PlanUnitsTest, WhatOnlyBHasIsComputedFromTheValuesOfA) {
  Train();
  const PlanPair pair = Pair(true);
  ASSERT_THAT(pair.recomputed(), SizeIs(1));
  EXPECT_EQ(pair.b().decisions()[pair.recomputed()[0]].op, "relu");
  EXPECT_FALSE(pair.IsShared({relu_}));
  const GoldenValues golden(pair, feeds_, nullptr);
  EXPECT_EQ(golden.Before(2, relu_), nullptr);
  ASSERT_NE(golden.BeforeInB(2, relu_), nullptr);
  EXPECT_EQ(golden.BeforeInB(2, relu_)->ToVector<float>(),
            golden.Before(2, scaled_)->ToVector<float>());
  const PlanSlice slice(pair, PlanSlice::Side::kB, 2, 3, golden);
  EXPECT_THAT(slice.ops(), SizeIs(2));  // the relu is an input
}

TEST_F(PlanUnitsTest, WhatOnlyAHasIsKeptFromItsRun) {
  Train();
  const PlanPair pair = Pair(false);
  EXPECT_THAT(pair.recomputed(), IsEmpty());
  const GoldenValues golden(pair, feeds_, nullptr);
  const PlanSlice slice(pair, PlanSlice::Side::kA, 2, 3, golden);
  EXPECT_THAT(slice.ops(), SizeIs(2));
}

// A pass that removes a dropout: dropout and scale become scale.
int LoseDropout(Graph& graph) {
  const std::vector<int> order = graph.order();
  for (const int id : order) {
    const OpDesc& dropout = graph.op(id).desc;
    if (dropout.type != "dropout") continue;
    const int scale = graph.Readers(dropout.Output("Out")[0]).at(0);
    OpDesc op = graph.op(scale).desc;
    op.inputs = {{"X", dropout.Input("X")}};
    if (graph.Replace({id, scale}, op)) return 1;
  }
  return 0;
}

TEST_F(PlanUnitsTest, RandomNumbersThatOnlyBDrawsAreNamedWithTheWayOut) {
  Registry::Global().AddPass({"lose_dropout", 5, LoseDropout});
  const std::string dropped =
      Append(&program_, "dropout", {{"X", {"x"}}}, {{"dropout_prob", 0.5}});
  const std::string end = Append(&program_, "scale", {{"X", {dropped}}});
  a_ = PrepareWith(program_, feeds_, {end}, "", {});
  b_ = PrepareWith(program_, feeds_, {end}, "exclude pass=lose_dropout", {});
  const PlanPair pair(program_, *a_, *b_);
  const GoldenValues golden(pair, feeds_, nullptr);
  ExpectError(ErrorCode::kFailedPrecondition, "laboratory.golden_input",
              {"scale", dropped, "only B's plan", "exclude pass=NAME"}, [&] {
                const PlanSlice slice(pair, PlanSlice::Side::kB, 0,
                                      pair.units().size(), golden);
              });
}

}  // namespace
}  // namespace sluice
