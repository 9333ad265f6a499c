#include "sluice/laboratory/tuning/reference.h"

#include <cmath>
#include <limits>

#include "tests/laboratory/lab_ops.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/laboratory/example_op.h"

namespace sluice::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A single op, with the shapes and dtypes that a program infers.
IsolatedOp MakeOp(const std::string& type,
                  const std::vector<std::pair<std::string, Tensor>>& inputs,
                  const std::vector<std::pair<DDim, DType>>& outputs,
                  const AttributeMap& attributes = {}) {
  Program program;
  Program::ArgList arguments;
  IsolatedOp op;
  for (const auto& [argument, tensor] : inputs) {
    program.Data(argument, tensor.dtype(), tensor.dims());
    arguments.push_back({argument, {argument}});
    op.inputs.push_back(tensor);
    op.facts.inputs.push_back(tensor.dims());
    op.facts.input_dtypes.push_back(tensor.dtype());
  }
  op.facts.desc = program.AppendOp(type, std::move(arguments), attributes);
  op.facts.schema = &Registry::Global().Schema(type);
  op.facts.dtype = inputs[0].second.dtype();
  for (const auto& [dims, dtype] : outputs) {
    op.facts.outputs.push_back(dims);
    op.facts.output_dtypes.push_back(dtype);
  }
  return op;
}

IsolatedOp Exp(const std::vector<float>& x) {
  const DDim dims({static_cast<int64_t>(x.size())});
  return MakeOp("exp", {{"X", Tensor::FromVector<float>(dims, x)}},
                {{dims, DType::kFloat32}});
}

template <typename T = float>
Deviation Compare(const IsolatedOp& op, const std::vector<T>& values) {
  const Reference reference = ComputeReference(op, Registry::Global());
  return CompareWithReference(
      op, reference, {Tensor::FromVector<T>(op.facts.outputs[0], values)});
}

TEST(Reference, IsComputedInFloat64) {
  const Reference reference = ComputeReference(Exp({1, 2}), Registry::Global());
  ASSERT_NE(reference.kernel, nullptr);
  EXPECT_EQ(reference.kernel->key.dtype, DType::kFloat64);
  EXPECT_DOUBLE_EQ(reference.outputs[0][1], std::exp(2.0));
  EXPECT_FLOAT_EQ(static_cast<float>(reference.others[0][1]), std::exp(2.0f));
  EXPECT_GT(reference.bounds[0].absolute, 0);
  EXPECT_LT(reference.bounds[0].absolute, 4e-5);
}

TEST(Reference, OfAFloat64OpIsItsPlainKernel) {
  const IsolatedOp op =
      MakeOp("exp", {{"X", Tensor::FromVector<double>({1}, {1})}},
             {{DDim({1}), DType::kFloat64}});
  const Reference reference = ComputeReference(op, Registry::Global());
  ASSERT_NE(reference.kernel, nullptr);
  EXPECT_EQ(reference.kernel->variant, "plain");
  EXPECT_THAT(reference.others, IsEmpty());
  // The loss of float32, scaled to float64.
  EXPECT_GT(reference.bounds[0].absolute, 0);
  EXPECT_LT(reference.bounds[0].absolute, 4e-15);
}

// Sums of terms of either sign: the small result has errors of the large terms.
TEST(Reference, OfAFloat64OpKnowsWhatCancellationCosts) {
  const ExampleOp made(ExampleFromJson(
                           R"({"op": "elementwise_div_grad", "inputs": [
              ["X", "T", [15], -1.5, 1.5], ["Y", "T", [2, 1], 0.7, 2],
              ["Out", "T", [2, 15], 0, 1], ["Out@GRAD", "T", [2, 15], -1, 1]]})",
                           "here"),
                       DType::kFloat64);
  const Reference reference = ComputeReference(made.op(), Registry::Global());
  EXPECT_GT(reference.bounds[1].absolute, 4e-18);
  EXPECT_LT(reference.bounds[1].absolute, 4e-14);
}

TEST(CompareWithReference, TakesRoundingAndRefusesAThousandth) {
  const IsolatedOp op = Exp({0, 1, 2});
  const float e = std::exp(1.0f);
  EXPECT_EQ(Compare(op, {1, e, e * e}).message, "");
  EXPECT_EQ(Compare(op, {1, e, e * e * (1 + 4e-7f)}).message, "");
  const Deviation deviation = Compare(op, {1, e, e * e * 1.001f});
  EXPECT_GT(deviation.error, 1);
  EXPECT_THAT(deviation.message, HasSubstr("Out[2] is 7.3964"));
  EXPECT_THAT(deviation.message,
              HasSubstr("exp/plain (cpu float64 PLAIN) gives 7.389"));
  EXPECT_THAT(deviation.message, HasSubstr("is rounding"));
}

// 576 terms for each element, which no size of the shapes shows.
TEST(CompareWithReference, TakesWhatLongSumsLose) {
  const Tensor input = Tensor::FromVector<float>(
      {1, 64, 14, 14}, std::vector<float>(64 * 14 * 14, 1));
  const Tensor filter = Tensor::FromVector<float>(
      {64, 64, 3, 3}, std::vector<float>(64 * 64 * 3 * 3, 1));
  const IsolatedOp op = MakeOp("conv2d", {{"Input", input}, {"Filter", filter}},
                               {{DDim({1, 64, 12, 12}), DType::kFloat32}});
  std::vector<float> sums(64 * 12 * 12, 576);
  EXPECT_EQ(Compare(op, sums).message, "");
  sums[7] = 576 * (1 + 5e-6f);
  EXPECT_EQ(Compare(op, sums).message, "");
  sums[7] = 576 * (1 + 1e-5f);
  EXPECT_THAT(Compare(op, sums).message, HasSubstr("Output[0, 0, 0, 7]"));
}

TEST(CompareWithReference, NamesTheElementByItsIndex) {
  const Tensor x = Tensor::FromVector<float>({2, 3}, {0, 0, 0, 0, 0, 0});
  const IsolatedOp op =
      MakeOp("exp", {{"X", x}}, {{x.dims(), DType::kFloat32}});
  EXPECT_THAT(Compare(op, {1, 1, 1, 1, 1, 2}).message,
              HasSubstr("Out[1, 2] is 2"));
}

TEST(CompareWithReference, WantsNanAndInfinityWhereTheReferenceHasThem) {
  const float nan = std::nanf("");
  const float infinity = std::numeric_limits<float>::infinity();
  const IsolatedOp op = Exp({nan, infinity, 0});
  EXPECT_EQ(Compare(op, {nan, infinity, 1}).message, "");
  const Deviation lost = Compare(op, {0, infinity, 1});
  EXPECT_EQ(lost.error, kInfinity);
  EXPECT_THAT(lost.message, HasSubstr("Out[0] is 0"));
  EXPECT_THAT(Compare(op, {nan, 1, 1}).message, HasSubstr("Out[1] is 1"));
  EXPECT_THAT(Compare(op, {nan, infinity, nan}).message,
              HasSubstr("Out[2] is nan"));
}

TEST(CompareWithReference, WhatOverflowsTheDtypeMayBeInfinite) {
  const IsolatedOp op = Exp({100, 0});
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(Compare(op, {infinity, 1}).message, "");
  EXPECT_NE(Compare(op, {5, 1}).message, "");
}

TEST(CompareWithReference, IntegersMustBeEqual) {
  const Tensor x = Tensor::FromVector<float>({1, 3}, {1, 3, 2});
  const IsolatedOp op =
      MakeOp("top_k", {{"X", x}},
             {{DDim({1, 2}), DType::kFloat32}, {DDim({1, 2}), DType::kInt64}},
             {{"k", int64_t{2}}});
  const Reference reference = ComputeReference(op, Registry::Global());
  const Tensor values = Tensor::FromVector<float>({1, 2}, {3, 2});
  const auto with_indices = [&](const std::vector<int64_t>& indices) {
    return CompareWithReference(
               op, reference,
               {values, Tensor::FromVector<int64_t>({1, 2}, indices)})
        .message;
  };
  EXPECT_EQ(with_indices({1, 2}), "");
  EXPECT_THAT(with_indices({1, 0}), HasSubstr("Indices[0, 1] is 0"));
}

TEST(CompareWithReference, AnIndexThatRoundingDecidesMayBeEither) {
  const Tensor x = Tensor::FromVector<float>({1, 2}, {1, 1});
  const IsolatedOp op =
      MakeOp("top_k", {{"X", x}},
             {{DDim({1, 1}), DType::kFloat32}, {DDim({1, 1}), DType::kInt64}},
             {{"k", int64_t{1}}});
  Reference reference = ComputeReference(op, Registry::Global());
  ASSERT_EQ(reference.others.size(), 2u);
  ASSERT_EQ(reference.outputs[1][0], 0);
  reference.others[1] = {1};  // as if rounding had made the second larger
  const auto with_index = [&](int64_t index) {
    return CompareWithReference(op, reference,
                                {Tensor::FromVector<float>({1, 1}, {1}),
                                 Tensor::FromVector<int64_t>({1, 1}, {index})})
        .message;
  };
  EXPECT_EQ(with_index(0), "");
  EXPECT_EQ(with_index(1), "");
}

TEST(CompareWithReference, ASumThatCancelsMayBeAsUncertainAsItsTerms) {
  const IsolatedOp op = MakeOp(
      "mean", {{"X", Tensor::FromVector<float>({3}, {16777216, 1, -16777216})}},
      {{DDim(std::vector<int64_t>{}), DType::kFloat32}});
  EXPECT_THAT(Compare(op, {0}).message, IsEmpty());
  EXPECT_THAT(Compare(op, {20}).message, HasSubstr("Out[] is 20"));
}

TEST(CompareWithReference, ASumInFloat64ThatCancelsIsAsUncertain) {
  const IsolatedOp op = MakeOp(
      "mean", {{"X", Tensor::FromVector<double>({3}, {0x1p53, 1, -0x1p53})}},
      {{DDim(std::vector<int64_t>{}), DType::kFloat64}});
  EXPECT_THAT(Compare<double>(op, {1. / 3}).message, IsEmpty());
  EXPECT_THAT(Compare<double>(op, {40}).message, HasSubstr("Out[] is 40"));
}

TEST(CompareWithReference, AJumpIsNoUncertainty) {
  // Rounding may not change the sign, though any change of X would.
  const IsolatedOp op =
      MakeOp("relu_grad",
             {{"Out", Tensor::FromVector<float>({2}, {0, 1})},
              {"Out@GRAD", Tensor::FromVector<float>({2}, {1, 1})}},
             {{DDim({2}), DType::kFloat32}});
  EXPECT_THAT(Compare(op, {0, 1}).message, IsEmpty());
  EXPECT_THAT(Compare(op, {1, 1}).message, HasSubstr("X@GRAD[0] is 1"));
}

}  // namespace
}  // namespace sluice::testing
