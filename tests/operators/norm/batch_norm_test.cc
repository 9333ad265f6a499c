#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using ::sluice::testing::InferOpShapes;

Tensor Row(const std::vector<float>& values) {
  return Tensor::FromVector<float>({static_cast<int64_t>(values.size())},
                                   values);
}

std::map<std::string, Tensor> BatchNorm(const Tensor& x,
                                        const AttributeMap& attributes = {}) {
  RunOpOptions options;
  options.outputs = {"Y", "MeanOut", "VarianceOut", "SavedMean",
                     "SavedVariance"};
  return RunOp("batch_norm",
               {{"X", x},
                {"Scale", Row({2})},
                {"Bias", Row({10})},
                {"Mean", Row({100})},
                {"Variance", Row({4})}},
               attributes, options);
}

// For any kernel: sums of floats would keep three digits here, and so would a
// mean that is rounded to a float.
TEST(BatchNorm, ALargeBatchAroundALargeMeanIsRightToTheLastDigits) {
  constexpr int64_t kRows = 64 * 32 * 32, kChannels = 64;
  const Tensor noise = RunOp("gaussian_random", {},
                             {{"shape", std::vector<int64_t>{kRows, kChannels}},
                              {"mean", 1e4},
                              {"std", 1.0}})
                           .at("Out");
  const Tensor x = Tensor::FromVector<float>({64, 32, 32, kChannels},
                                             noise.ToVector<float>());
  const Tensor one = Row(std::vector<float>(kChannels, 1));
  const Tensor zero = Row(std::vector<float>(kChannels, 0));
  const Tensor y =
      RunOp("batch_norm",
            {{"X", x},
             {"Scale", one},
             {"Bias", zero},
             {"Mean", zero},
             {"Variance", one}},
            {{"epsilon", 0.0}, {"data_format", std::string("NHWC")}})
          .at("Y");
  const float* from = x.data<float>();
  for (int64_t c = 0; c < kChannels; c += 9) {
    double mean = 0, variance = 0, most = 0;
    for (int64_t row = 0; row < kRows; ++row) {
      mean += from[row * kChannels + c] / double{kRows};
    }
    for (int64_t row = 0; row < kRows; ++row) {
      const double distance = from[row * kChannels + c] - mean;
      variance += distance * distance / double{kRows};
    }
    for (int64_t row = 0; row < kRows; ++row) {
      const int64_t i = row * kChannels + c;
      const double want = (from[i] - mean) / std::sqrt(variance);
      most = std::max(most, std::abs(y.data<float>()[i] - want));
    }
    EXPECT_LT(most, 1.5e-6) << "channel " << c;
  }
}

TEST(BatchNorm, AnInfiniteMeanStaysItWhenTesting) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor out =
      RunOp("batch_norm",
            {{"X", Tensor::FromVector<float>({1, 1}, {1})},
             {"Scale", Row({2})},
             {"Bias", Row({10})},
             {"Mean", Row({-infinity})},
             {"Variance", Row({4})}},
            {{"is_test", true}}, RunOpOptions{.outputs = {"MeanOut"}})
          .at("MeanOut");
  EXPECT_EQ(out.data<float>()[0], -infinity);
}

TEST(BatchNorm, AnEmptyBatchLeavesTheRunningStatistics) {
  auto out = BatchNorm(Tensor::FromVector<float>({0, 1}, {}));
  EXPECT_EQ(out["MeanOut"].ToVector<float>(), std::vector<float>{100});
  EXPECT_EQ(out["VarianceOut"].ToVector<float>(), std::vector<float>{4});
}

TEST(BatchNorm, InfersTheChannels) {
  EXPECT_EQ(InferOpShapes("batch_norm", {{"X", {-1, -1, 4, 4}},
                                         {"Scale", {8}},
                                         {"Bias", {-1}},
                                         {"Mean", {-1}},
                                         {"Variance", {-1}}})
                .at("SavedMean"),
            DDim({8}));
}

}  // namespace
}  // namespace sluice
