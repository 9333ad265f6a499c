#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/operators/harness/harness.h"
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

// The case with which the harness tests every kernel of the op.
namespace sluice::testing {
namespace {

constexpr double kEpsilon = 0.25;

// Values above `low`, distinct if make's are.
Tensor Above(double low, ExampleMaker& make, const DDim& dims) {
  Array values = ToArray(make.Values(dims));
  for (double& value : values.values) {
    value = low + std::abs(value) / 4;
  }
  return ToTensor(values, make.dtype());
}

std::vector<OpExample> BatchNormExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  for (const bool is_test : {false, true}) {
    for (const char* format : {"NCHW", "NHWC"}) {
      for (const DDim& dims : {DDim{3, 2, 5}, DDim{7, 3}, DDim{2, 2, 3, 3},
                               DDim{1, 1}, DDim{0, 3, 2}, DDim{2, 3, 0},
                               DDim{5, 19, 13, 17}, DDim{41, 37, 23}}) {
        const bool nchw = format[1] == 'C';
        const DDim channels{nchw ? dims[1] : dims[dims.rank() - 1]};
        examples.push_back({{{"X", make.Values(dims)},
                             {"Scale", make.Values(channels)},
                             {"Bias", make.Values(channels)},
                             {"Mean", make.Values(channels)},
                             {"Variance", Above(0.5, make, channels)}},
                            {{"data_format", std::string(format)},
                             {"is_test", is_test},
                             {"momentum", 0.75},
                             {"epsilon", kEpsilon}}});
      }
    }
  }
  return examples;
}

// Elements of each channel.
std::vector<std::vector<size_t>> ByChannel(const Array& x, const OpDesc& op) {
  const bool nchw = GetAttr<std::string>(op, "data_format") == "NCHW";
  const int axis = nchw ? 1 : x.dims.rank() - 1;
  std::vector<std::vector<size_t>> channels(x.dims[axis]);
  for (size_t i = 0; i < x.values.size(); ++i) {
    channels[x.IndexOf(static_cast<int64_t>(i))[axis]].push_back(i);
  }
  return channels;
}

Arrays BatchNormReference(const Arrays& in, const OpDesc& op) {
  const Array& x = in.at("X");
  const bool is_test = GetAttr<bool>(op, "is_test");
  const auto channels = ByChannel(x, op);
  const DDim dims{static_cast<int64_t>(channels.size())};
  Array y(x.dims), mean_out(dims), variance_out(dims), saved_mean(dims),
      saved_variance(dims);
  for (size_t c = 0; c < channels.size(); ++c) {
    const auto count = static_cast<double>(channels[c].size());
    double mean = 0, variance = 0;
    for (const size_t i : channels[c]) {
      mean += x.values[i] / count;
    }
    for (const size_t i : channels[c]) {
      variance += std::pow(x.values[i] - mean, 2) / count;
    }
    mean_out.values[c] = in.at("Mean").values[c];
    variance_out.values[c] = in.at("Variance").values[c];
    if (!is_test && count > 0) {
      mean_out.values[c] += 0.25 * (mean - mean_out.values[c]);
      variance_out.values[c] += 0.25 * (variance - variance_out.values[c]);
    }
    if (is_test) {
      mean = in.at("Mean").values[c];
      variance = in.at("Variance").values[c];
    }
    saved_mean.values[c] = mean;
    saved_variance.values[c] = 1 / std::sqrt(variance + kEpsilon);
    for (const size_t i : channels[c]) {
      y.values[i] = (x.values[i] - mean) * saved_variance.values[c] *
                        in.at("Scale").values[c] +
                    in.at("Bias").values[c];
    }
  }
  return {{"Y", y},
          {"MeanOut", mean_out},
          {"VarianceOut", variance_out},
          {"SavedMean", saved_mean},
          {"SavedVariance", saved_variance}};
}

std::vector<OpExample> BatchNormGradExamples(ExampleMaker& make) {
  std::vector<OpExample> examples = BatchNormExamples(make);
  int number = 0;
  for (OpExample& example : examples) {
    const DDim dims = example.inputs[0].second.dims();
    const DDim channels = example.inputs[1].second.dims();
    example.inputs.resize(2);
    example.inputs.emplace_back("SavedMean", make.Values(channels));
    example.inputs.emplace_back("SavedVariance", Above(0.25, make, channels));
    if (number % 3 != 2) {
      example.inputs.emplace_back("Y@GRAD", make.Values(dims));
    }
    if (number % 3 != 1) {
      example.inputs.emplace_back("SavedMean@GRAD", make.Values(channels));
      example.inputs.emplace_back("SavedVariance@GRAD", make.Values(channels));
    }
    ++number;
  }
  return examples;
}

// Element by element: every output depends on every x of the channel through
// the mean and the variance.
Arrays BatchNormGradReference(const Arrays& in, const OpDesc& op) {
  const Array& x = in.at("X");
  const bool is_test = GetAttr<bool>(op, "is_test");
  const auto channels = ByChannel(x, op);
  const DDim dims{static_cast<int64_t>(channels.size())};
  Array x_grad(x.dims), scale_grad(dims), bias_grad(dims);
  const auto given = [&](const char* name, size_t i) {
    return in.count(name) > 0 ? in.at(name).values[i] : 0.0;
  };
  for (size_t c = 0; c < channels.size(); ++c) {
    const double count = static_cast<double>(channels[c].size());
    const double mean = in.at("SavedMean").values[c];
    const double inverse_std = in.at("SavedVariance").values[c];
    const double scale = in.at("Scale").values[c];
    double mean_grad = given("SavedMean@GRAD", c);
    double inverse_std_grad = given("SavedVariance@GRAD", c);
    for (const size_t i : channels[c]) {
      const double y_grad = given("Y@GRAD", i);
      bias_grad.values[c] += y_grad;
      scale_grad.values[c] += y_grad * (x.values[i] - mean) * inverse_std;
      mean_grad -= y_grad * inverse_std * scale;
      inverse_std_grad += y_grad * (x.values[i] - mean) * scale;
    }
    const double variance_grad =
        -inverse_std_grad * std::pow(inverse_std, 3) / 2;
    for (const size_t i : channels[c]) {
      x_grad.values[i] = given("Y@GRAD", i) * inverse_std * scale;
      if (is_test) continue;
      x_grad.values[i] +=
          mean_grad / count + variance_grad * 2 * (x.values[i] - mean) / count;
    }
  }
  return {
      {"X@GRAD", x_grad}, {"Scale@GRAD", scale_grad}, {"Bias@GRAD", bias_grad}};
}

REGISTER_OP_CASE(batch_norm, BatchNormExamples, BatchNormReference, 16);
REGISTER_OP_CASE(batch_norm_grad,
                 BatchNormGradExamples,
                 BatchNormGradReference,
                 16);
// With one rank the sync ops equal batch_norm's.
REGISTER_OP_CASE(sync_batch_norm, BatchNormExamples, BatchNormReference, 16);
REGISTER_OP_CASE(sync_batch_norm_grad,
                 BatchNormGradExamples,
                 BatchNormGradReference,
                 16);

}  // namespace
}  // namespace sluice::testing
