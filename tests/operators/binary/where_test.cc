#include "sluice/operators/math/binary/where.h"

#include <array>
#include <limits>
#include <vector>

#include "tests/operators/binary/binary_case.h"
#include "tests/operators/harness/infer_op_shapes.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using testing::Array;
using testing::Arrays;
using testing::InferOpShapes;

Tensor Where(const Tensor& condition, const Tensor& x, const Tensor& y) {
  return RunOp("where", {{"Condition", condition}, {"X", x}, {"Y", y}})["Out"];
}

TEST(Where, WhatIsNotTakenDoesNotMatter) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto condition = Tensor::FromVector<bool>({2}, {true, false});
  const auto x = Tensor::FromVector<float>({2}, {1, nan});
  const auto y = Tensor::FromVector<float>({2}, {nan, 2});
  EXPECT_EQ(Where(condition, x, y).ToVector<float>(),
            (std::vector<float>{1, 2}));
}

TEST(Where, InfersUnknownShapes) {
  const auto infer = [](const DDim& condition, const DDim& x, const DDim& y) {
    return InferOpShapes("where",
                         {{"Condition", condition}, {"X", x}, {"Y", y}})
        .at("Out");
  };
  EXPECT_EQ(infer({-1, 1}, {3}, {}), DDim({-1, 3}));
  EXPECT_FALSE(infer(DDim::UnknownRank(), {3}, {}).rank_known());
}

std::vector<testing::OpExample> WhereExamples(testing::ExampleMaker& make) {
  const auto example = [&](const DDim& condition, const DDim& x,
                           const DDim& y) {
    return testing::OpExample{
        {{"Condition", make.Integers(DType::kBool, condition, 0, 1)},
         {"X", make.Values(x)},
         {"Y", make.Values(y)}},
        {}};
  };
  return {example({3, 5}, {3, 5}, {3, 5}),
          example({3, 1}, {5}, {}),
          example({5}, {2, 3, 5}, {3, 1}),
          example({2, 1, 5}, {3, 1}, {2, 3, 1}),
          example({}, {}, {}),
          example({}, {1, 7}, {3, 1}),
          example({0, 3}, {3}, {1, 1}),
          example({2, 1}, {1, 0}, {}),
          example({251, 263}, {251, 263}, {263}),
          example({251, 1}, {251, 263}, {})};
}

// Out without its values, and the source of each element in the three inputs.
struct Places {
  Array out;
  std::array<std::vector<size_t>, 3> at;
};

Places FindPlaces(const Arrays& in) {
  const std::array operands = {&in.at("Condition"), &in.at("X"), &in.at("Y")};
  DDim dims;
  for (const Array* operand : operands) {
    dims = testing::ForEachPair(dims, operand->dims, -1,
                                [](size_t, size_t, size_t) {});
  }
  Places places = {Array(dims), {}};
  for (size_t k = 0; k < 3; ++k) {
    testing::ForEachPair(
        dims, operands[k]->dims, -1,
        [&](size_t, size_t own, size_t) { places.at[k].push_back(own); });
  }
  return places;
}

Arrays WhereReference(const Arrays& in, const OpDesc& /*op*/) {
  Places places = FindPlaces(in);
  for (size_t i = 0; i < places.out.values.size(); ++i) {
    const bool yes = in.at("Condition").values[places.at[0][i]] != 0;
    places.out.values[i] = yes ? in.at("X").values[places.at[1][i]]
                               : in.at("Y").values[places.at[2][i]];
  }
  return {{"Out", places.out}};
}

std::vector<testing::OpExample> WhereGradExamples(testing::ExampleMaker& make) {
  std::vector<testing::OpExample> examples = WhereExamples(make);
  for (testing::OpExample& example : examples) {
    DDim dims;
    WhereShape(
        {example.inputs[0].second.dims(), example.inputs[1].second.dims(),
         example.inputs[2].second.dims()},
        &dims);
    example.inputs.emplace_back("Out@GRAD", make.Values(dims));
  }
  return examples;
}

Arrays WhereGradReference(const Arrays& in, const OpDesc& /*op*/) {
  const Places places = FindPlaces(in);
  Array x_grad(in.at("X").dims);
  Array y_grad(in.at("Y").dims);
  for (size_t i = 0; i < places.out.values.size(); ++i) {
    const bool yes = in.at("Condition").values[places.at[0][i]] != 0;
    double& grad =
        yes ? x_grad.values[places.at[1][i]] : y_grad.values[places.at[2][i]];
    grad += in.at("Out@GRAD").values[i];
  }
  return {{"X@GRAD", x_grad}, {"Y@GRAD", y_grad}};
}

}  // namespace

REGISTER_OP_CASE(where, WhereExamples, WhereReference);
REGISTER_OP_CASE(where_grad, WhereGradExamples, WhereGradReference, 4);

}  // namespace sluice
