#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

// layer_norm, rms_norm, instance_norm and group_norm.
namespace sluice {
namespace {

using ::sluice::testing::InferOpShapes;
using Floats = std::vector<float>;

Tensor RowNormRow(const Floats& values) {
  return Tensor::FromVector<float>({static_cast<int64_t>(values.size())},
                                   values);
}

AttributeMap Exactly(AttributeMap attributes = {}) {
  attributes["epsilon"] = 0.0;
  return attributes;
}

TEST(LayerNorm, ScaleAndBiasMayHaveTheDimsOfARow) {
  const Tensor x =
      Tensor::FromVector<float>({2, 2, 2}, {1, 1, 3, 3, 5, 9, 5, 9});
  const Tensor flat = RowNormRow({1, 2, 3, 4});
  const auto run = [&](const Tensor& parameters) {
    return RunOp("layer_norm",
                 {{"X", x}, {"Scale", parameters}, {"Bias", parameters}},
                 Exactly())["Y"]
        .ToVector<float>();
  };
  EXPECT_EQ(run(flat), (Floats{0, 0, 6, 8, 0, 4, 0, 8}));
  EXPECT_EQ(run(flat.Reshaped({2, 2})), run(flat));
}

TEST(LayerNorm, ANanStaysInItsRow) {
  Floats values(3 * 37, 1);
  values[0] = 2;
  values[37 + 5] = std::nanf("");
  values[2 * 37 + 7] = std::numeric_limits<float>::infinity();
  const Floats y =
      RunOp("layer_norm", {{"X", Tensor::FromVector<float>({3, 37}, values)}})
          .at("Y")
          .ToVector<float>();
  for (size_t i = 0; i < y.size(); ++i) {
    EXPECT_EQ(std::isnan(y[i]), i >= 37) << i;
  }
}

// Sums of floats would keep three digits here, and so would a mean that is
// rounded to a float.
TEST(LayerNorm, LargeMeansCostNoDigits) {
  constexpr int64_t kRows = 5, kSize = 3001;
  const Tensor x = RunOp("gaussian_random", {},
                         {{"shape", std::vector<int64_t>{kRows, kSize}},
                          {"mean", 1e4},
                          {"std", 1.0}})
                       .at("Out");
  const Tensor y = RunOp("layer_norm", {{"X", x}}, Exactly()).at("Y");
  for (int64_t row = 0; row < kRows; ++row) {
    const float* from = x.data<float>() + row * kSize;
    double mean = 0, variance = 0, most = 0;
    for (int64_t i = 0; i < kSize; ++i) {
      mean += from[i] / double{kSize};
    }
    for (int64_t i = 0; i < kSize; ++i) {
      variance += (from[i] - mean) * (from[i] - mean) / double{kSize};
    }
    for (int64_t i = 0; i < kSize; ++i) {
      const double want = (from[i] - mean) / std::sqrt(variance);
      most = std::max(most, std::abs(y.data<float>()[row * kSize + i] - want));
    }
    EXPECT_LT(most, 1.5e-6) << "row " << row;
  }
}

TEST(GroupNorm, IsInstanceNormOfOneChannelAndLayerNormOfAll) {
  Floats values(2 * 6 * 5);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i * i % 23);
  }
  const Tensor x = Tensor::FromVector<float>({2, 6, 5}, values);
  const auto group_norm = [&](int64_t groups) {
    return RunOp("group_norm", {{"X", x}}, {{"groups", groups}})["Y"]
        .ToVector<float>();
  };
  EXPECT_EQ(group_norm(6),
            RunOp("instance_norm", {{"X", x}})["Y"].ToVector<float>());
  EXPECT_EQ(group_norm(1),
            RunOp("layer_norm", {{"X", x}})["Y"].ToVector<float>());
  EXPECT_NE(group_norm(2), group_norm(3));
}

TEST(RowNorm, InfersWhatIsKnown) {
  const auto shapes =
      InferOpShapes("layer_norm", {{"X", {-1, 3, 4}}, {"Scale", {12}}},
                    {{"begin_norm_axis", int64_t{-2}}});
  EXPECT_EQ(shapes.at("Mean"), DDim({-1}));
  EXPECT_EQ(shapes.at("Y"), DDim({-1, 3, 4}));
  EXPECT_EQ(InferOpShapes("instance_norm", {{"X", {-1, -1, 4}}, {"Scale", {3}}})
                .at("Mean"),
            DDim({-1, 3}));
  EXPECT_EQ(
      InferOpShapes("group_norm", {{"X", {7, -1, 4}}}, {{"groups", int64_t{2}}})
          .at("Variance"),
      DDim({7, 2}));
}

}  // namespace
}  // namespace sluice
