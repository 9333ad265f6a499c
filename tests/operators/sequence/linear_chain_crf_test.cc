#include <cmath>
#include <limits>
#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using testing::InferOpShapes;
using Int64s = std::vector<int64_t>;
using Floats = std::vector<float>;

constexpr float kForbidden = -std::numeric_limits<float>::infinity();

// The cost of one sequence with two tags.
Floats Cost(const Floats& emission,
            const Floats& transition,
            const Int64s& label,
            int64_t length) {
  const auto positions = static_cast<int64_t>(label.size());
  return RunOp("linear_chain_crf",
               {{"Emission",
                 Tensor::FromVector<float>({1, positions, 2}, emission)},
                {"Transition", Tensor::FromVector<float>({4, 2}, transition)},
                {"Label", Tensor::FromVector<int64_t>({1, positions}, label)},
                {"Length", Tensor::FromVector<int64_t>({1}, {length})}})
      .at("LogLikelihood")
      .ToVector<float>();
}

TEST(LinearChainCrf, IsMinusTheLogarithmOfTheProbability) {
  const float half = std::log(2.0F);
  const Floats nothing(8, 0);
  EXPECT_FLOAT_EQ(Cost({0, 0}, nothing, {1}, 1)[0], half);
  EXPECT_FLOAT_EQ(Cost({0, 0, 0, 0, 0, 0}, nothing, {1, 0, 1}, 3)[0], 3 * half);
  // P(1) = e^2 / (e^2 + 1), from the start, the end and the emission.
  EXPECT_FLOAT_EQ(Cost({0, 1}, {0, 0.5F, 0, 0.5F, 0, 0, 0, 0}, {1}, 1)[0],
                  std::log1p(std::exp(-2.0F)));
}

TEST(LinearChainCrf, DoesNotReadPastTheLength) {
  const float nan = std::nanf("");
  EXPECT_FLOAT_EQ(Cost({0, 0, nan, nan}, Floats(8, 0), {1, -7}, 1)[0],
                  std::log(2.0F));
}

TEST(LinearChainCrf, TakesAnyWeights) {
  const Floats large = {1e4F, -1e4F, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(Cost({0, 0}, large, {0}, 1)[0], 0);
  EXPECT_EQ(Cost({0, 0}, large, {1}, 1)[0], 2e4F);
  // Tag 1 never follows itself, tag 0 never follows tag 0.
  const Floats forbidding = {0, 0, 0, 0, kForbidden, 0, 0, kForbidden};
  EXPECT_FLOAT_EQ(Cost({0, 0, 0, 0}, forbidding, {0, 1}, 2)[0], std::log(2.0F));
}

Tensor Ones(const DDim& dims) {
  return Tensor::FromVector(dims,
                            Floats(static_cast<size_t>(dims.numel()), 1.0F));
}

TEST(LinearChainCrf, InfersUnknownShapes) {
  EXPECT_EQ(InferOpShapes("linear_chain_crf", {{"Emission", {-1, -1, 2}},
                                               {"Transition", {4, 2}},
                                               {"Label", {5, -1}},
                                               {"Length", {-1}}})
                .at("LogLikelihood"),
            DDim({5, 1}));
  EXPECT_EQ(
      InferOpShapes("linear_chain_crf", {{"Emission", DDim::UnknownRank()},
                                         {"Transition", DDim::UnknownRank()},
                                         {"Label", DDim::UnknownRank()},
                                         {"Length", DDim::UnknownRank()}})
          .at("LogLikelihood"),
      DDim({-1, 1}));
}

TEST(LinearChainCrf, OfLengthZeroCostsNothing) {
  const Floats weights = {1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(Cost({1, 2}, weights, {9}, 0)[0], 0);
  auto got =
      RunOp("linear_chain_crf_grad",
            {{"Emission", Ones({1, 1, 2})},
             {"Transition", Ones({4, 2})},
             {"Label", Tensor::FromVector<int64_t>({1, 1}, {9})},
             {"Length", Tensor::FromVector<int64_t>({1}, {0})},
             {"LogLikelihood@GRAD", Tensor::FromVector<float>({1, 1}, {2})}},
            {}, {.outputs = {"Emission@GRAD", "Transition@GRAD"}});
  EXPECT_EQ(got["Emission@GRAD"].ToVector<float>(), (Floats{0, 0}));
  EXPECT_EQ(got["Transition@GRAD"].ToVector<float>(), Floats(8, 0));
}

TEST(LinearChainCrfGrad, IsZeroPastTheLength) {
  const float nan = std::nanf("");
  auto got = RunOp(
      "linear_chain_crf_grad",
      {{"Emission", Tensor::FromVector<float>({1, 2, 2}, {0, 0, nan, nan})},
       {"Transition", Ones({4, 2})},
       {"Label", Tensor::FromVector<int64_t>({1, 2}, {1, 9})},
       {"Length", Tensor::FromVector<int64_t>({1}, {1})},
       {"LogLikelihood@GRAD", Tensor::FromVector<float>({1, 1}, {2})}},
      {}, {.outputs = {"Emission@GRAD", "Transition@GRAD"}});
  EXPECT_EQ(got["Emission@GRAD"].ToVector<float>(), (Floats{1, -1, 0, 0}));
  EXPECT_EQ(got["Transition@GRAD"].ToVector<float>(),
            (Floats{1, -1, 1, -1, 0, 0, 0, 0}));
}

}  // namespace
}  // namespace sluice
