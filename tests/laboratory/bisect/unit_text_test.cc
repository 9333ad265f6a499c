#include "sluice/laboratory/bisect/unit_text.h"

#include <memory>

#include "tests/framework/test_ops.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/laboratory/bisect/plan_slice.h"

namespace sluice {
namespace {

using sluice::testing::Append;
using sluice::testing::Iota;

TEST(UnitText, ListsOfMoreThanThreeAreCutShort) {
  EXPECT_EQ(Listed({}), "");
  EXPECT_EQ(Listed({"a", "b", "c"}), "a, b, c");
  EXPECT_EQ(Listed({"a", "b", "c", "d", "e"}), "a, b, c and 2 more");
}

// Compares a plan with itself.
TEST(UnitText, NamesTheFirstOpsOfALargePart) {
  sluice::testing::UseTestOps();
  Program program;
  program.Data("x", DType::kFloat32, {3});
  std::string end = "x";
  for (int i = 0; i < 5; ++i) {
    end = Append(&program, "test_add", {{"X", {end}}, {"Y", {"x"}}});
  }
  const Feeds feeds = {{"x", Iota({3})}};
  const auto plan = PrepareWith(program, feeds, {end}, "", {});
  const PlanPair pair(program, *plan, *plan);
  const UnitText text = TextOf(pair, {0, 1, 2, 3, 4}, {});
  EXPECT_EQ(text.ops, "0 test_add, 1 test_add, 2 test_add and 2 more");
  EXPECT_EQ(text.kernels_a, "5 calls: plain");
  EXPECT_EQ(text.kernels_b, "-");
  // For an op with another input.
  EXPECT_EQ(TextOf(pair, {1}, {1}).kernels_a, "plain");
  const std::string input = program.block().ops[1].outputs[0].second[0];
  EXPECT_EQ(TextOf(pair, {2}, {2}).kernels_b, "plain");
  EXPECT_THAT(TextOf(pair, {2}, {1}).kernels_a,
              ::testing::StartsWith("plain (X is " + input));
}

TEST(UnitText, NamesEachKernelThatTheOtherPlanLacks) {
  sluice::testing::UseTestOps();
  Program program;
  program.Data("x", DType::kFloat32, {3, 3});
  std::string end = "x";
  for (int i = 0; i < 3; ++i) {
    end = Append(&program, "manhattan_distance", {{"X", {end}}, {"Y", {end}}});
    end = Append(&program, "test_add", {{"X", {end}}, {"Y", {"x"}}});
  }
  const Feeds feeds = {{"x", Iota({3, 3})}};
  const auto plan = [&](std::string_view hints) {
    return PrepareWith(program, feeds, {end}, hints, {});
  };
  const auto a = plan("manhattan_distance: require variant=plain");
  const auto b = plan("manhattan_distance: require variant=blocked");
  const PlanPair pair(program, *a, *b);
  const std::vector<int> all = {0, 1, 2, 3, 4, 5};
  const UnitText text = TextOf(pair, all, all);
  EXPECT_EQ(text.kernels_a, "6 calls: plain");
  EXPECT_EQ(text.kernels_b, "6 calls: manhattan_distance blocked, plain");
}

}  // namespace
}  // namespace sluice
