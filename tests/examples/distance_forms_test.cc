#include "examples/distance_forms.h"

#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using Form = Var (*)(const Var&, const Var&);

Var DistanceOp(const Var& x, const Var& y) {
  return ops::ManhattanDistance(x, y);
}

// Numbers that differ from row to row; row r begins with `first` + r.
Tensor RowsFrom(int64_t rows, int64_t columns, float first) {
  std::vector<float> values(rows * columns);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = std::sin(first + static_cast<float>(i));
  }
  return Tensor::FromVector({rows, columns}, values);
}

Feeds PointFeeds(int64_t n, int64_t m, int64_t p) {
  return {{"x", RowsFrom(n, p, 1)}, {"y", RowsFrom(m, p, 5)}};
}

std::shared_ptr<const Plan> PlanOf(Form form, const Feeds& feeds) {
  Program program;
  const auto x = program.Data("x", DType::kFloat32, feeds[0].second.dims());
  const auto y = program.Data("y", DType::kFloat32, feeds[1].second.dims());
  return Executor().Prepare(program, feeds, {form(x, y)});
}

size_t ArenaBytes(Form form, int64_t n, int64_t m, int64_t p) {
  size_t bytes = 0;
  const auto plan = PlanOf(form, PointFeeds(n, m, p));
  for (const auto& arena : plan->arenas()) {
    bytes += arena.second;
  }
  return bytes;
}

void ExpectAllAgree(const Feeds& feeds) {
  const Tensor expected = PlanOf(DistanceOp, feeds)->Run(feeds)[0];
  for (const Form form :
       {examples::BroadcastDistance, examples::LoopDistance}) {
    const Tensor got = PlanOf(form, feeds)->Run(feeds)[0];
    ASSERT_EQ(got.dims(), expected.dims());
    EXPECT_THAT(got.ToVector<float>(),
                ::testing::Pointwise(::testing::NanSensitiveFloatNear(1e-5F),
                                     expected.ToVector<float>()));
  }
}

TEST(DistanceFormsTest, GraphsAgreeWithTheOp) {
  ExpectAllAgree(PointFeeds(2, 3, 4));
  ExpectAllAgree(PointFeeds(7, 5, 1));
  ExpectAllAgree(PointFeeds(1, 1, 33));
  ExpectAllAgree(PointFeeds(3, 2, 0));
}

TEST(DistanceFormsTest, GraphsAgreeWithTheOpAboutNanAndInfinity) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  ExpectAllAgree(
      {{"x", Tensor::FromVector<float>({3, 2}, {nan, 1, infinity, 2, 3, 4})},
       {"y", Tensor::FromVector<float>({2, 2}, {1, 2, infinity, 2})}});
}

TEST(DistanceFormsTest, NumbersOfRowsMayComeLateWhereNothingLoops) {
  Program program;
  const auto x = program.Data("x", DType::kFloat32, {-1, -1});
  const auto y = program.Data("y", DType::kFloat32, {-1, -1});
  const auto distance = examples::BroadcastDistance(x, y);
  const Feeds feeds = PointFeeds(4, 3, 2);
  EXPECT_EQ(Executor().Run(program, feeds, {distance})[0].ToVector<float>(),
            PlanOf(DistanceOp, feeds)->Run(feeds)[0].ToVector<float>());
  EXPECT_THROW(examples::LoopDistance(x, y), std::invalid_argument);
}

TEST(DistanceFormsTest, WhatIsNoMatrixIsNamed) {
  Program program;
  const auto x = program.Data("x", DType::kFloat32, {3, 4});
  const auto row = program.Data("row", DType::kFloat32, {4});
  const auto none = program.Data("none", DType::kFloat32, {0, 4});
  for (const Form form :
       {examples::BroadcastDistance, examples::LoopDistance}) {
    try {
      form(x, row);
      FAIL() << "no error";
    } catch (const std::invalid_argument& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr("row has the shape [4]"));
    }
  }
  EXPECT_THROW(examples::LoopDistance(x, none), std::invalid_argument);
}

// The purpose of the op: its plan needs no arena, the broadcast plan stores all
// differences, and the loop's plan a number for each distance.
TEST(DistanceFormsTest, OnlyTheBroadcastPlanGrowsWithTheColumns) {
  EXPECT_EQ(ArenaBytes(DistanceOp, 16, 16, 512), 0);
  EXPECT_GE(ArenaBytes(examples::BroadcastDistance, 16, 16, 512),
            sizeof(float) * 16 * 16 * 512);
  const size_t narrow = ArenaBytes(examples::LoopDistance, 16, 16, 16);
  const size_t wide = ArenaBytes(examples::LoopDistance, 16, 16, 512);
  EXPECT_GE(narrow, sizeof(float) * 16 * 16);
  EXPECT_LE(wide, narrow + sizeof(float) * 16 * 512);
}

}  // namespace
}  // namespace sluice
