#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include "tests/operators/harness/op_case.h"
#include "tests/operators/sequence/mask_examples.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using testing::ExpectError;
using testing::InferOpShapes;
using Doubles = std::vector<double>;
using Inputs = std::vector<std::pair<std::string, Tensor>>;

// An image of one row with one feature, and masks of consecutive columns up to
// `ends`.
Inputs Row(const Doubles& pixels, const std::vector<int64_t>& ends) {
  std::vector<int64_t> runs;
  int64_t start = 0;
  for (const int64_t end : ends) {
    runs.insert(runs.end(), {start, end});
    start = end;
  }
  const auto y = static_cast<int64_t>(pixels.size());
  const auto masks = static_cast<int64_t>(ends.size());
  return {{"Embedding", Tensor::FromVector<double>({1, 1, y, 1}, pixels)},
          {"Mask", Tensor::FromVector<int64_t>({1, masks, 1, 2}, runs)}};
}

// Enables only one of the terms.
AttributeMap Only(const char* weight) {
  AttributeMap attributes = {{"variance_weight", 0.0},
                             {"distance_weight", 0.0},
                             {"regularization_weight", 0.0}};
  attributes[weight] = 1.0;
  return attributes;
}

double RowLoss(const Doubles& pixels,
               const std::vector<int64_t>& ends,
               const AttributeMap& attributes) {
  return RunOp("discriminative_loss", Row(pixels, ends), attributes)["Loss"]
      .ToVector<double>()[0];
}

Doubles RowGrad(const Doubles& pixels,
                const std::vector<int64_t>& ends,
                const AttributeMap& attributes) {
  Inputs inputs = Row(pixels, ends);
  inputs.emplace_back("Loss@GRAD", Tensor::FromVector<double>({1}, {1}));
  return RunOp("discriminative_loss_grad", inputs, attributes)["Embedding@GRAD"]
      .ToVector<double>();
}

TEST(DiscriminativeLoss, HasNoLossWithoutMasks) {
  EXPECT_EQ(RowLoss({1, 2}, {}, {}), 0);
  EXPECT_EQ(RowLoss({1, 2}, {0, 0}, {}), 0);
  EXPECT_EQ(RowGrad({1, 2}, {0, 0}, {}), (Doubles{0, 0}));
}

TEST(DiscriminativeLossGrad, IsZeroForNormsOfZero) {
  // Equal means, at 0, and pixels that are their means.
  AttributeMap all;
  all["delta_v"] = 0.0;
  EXPECT_EQ(RowGrad({0, 0, 0}, {1, 3}, all), (Doubles{0, 0, 0}));
}

TEST(DiscriminativeLoss, DoesNotLoseDigitsFarFromZero) {
  // In float, the mean of squares minus the square of the mean would be 0.
  const Tensor x = Tensor::FromVector<float>({1, 1, 2, 1}, {9999, 10001});
  const Tensor mask = Tensor::FromVector<int32_t>({1, 1, 1, 2}, {0, 2});
  EXPECT_EQ(RunOp("discriminative_loss", {{"Embedding", x}, {"Mask", mask}},
                  Only("variance_weight"))["Loss"]
                .ToVector<float>()[0],
            0.25F);
}

TEST(DiscriminativeLoss, KeepsNaNOfMasksAndNoOther) {
  const double nan = std::nan("");
  EXPECT_TRUE(std::isnan(RowLoss({1, nan, 3}, {2, 3}, {})));
  EXPECT_FALSE(std::isnan(RowLoss({1, 2, nan}, {1, 2}, {})));
  EXPECT_EQ(RowGrad({1, 2, nan}, {1, 2}, {})[2], 0);
}

TEST(DiscriminativeLoss, RefusesWhatCannotBe) {
  for (const char* name : {"delta_v", "delta_d", "variance_weight",
                           "distance_weight", "regularization_weight"}) {
    for (const double bad :
         {-0.5, std::nan(""), std::numeric_limits<double>::infinity()}) {
      ExpectError(ErrorCode::kInvalidArgument, "discriminative_loss.attribute",
                  {"discriminative_loss", name, "0 or more"}, [&] {
                    RowLoss({1}, {1}, {{name, bad}});
                  });
    }
  }
  ExpectError(ErrorCode::kOutOfRange, "embedding_mask.end_past_y",
              {"discriminative_loss: ", "Mask[0, 1, 0]", "[1, 4)", "at most 3"},
              [&] {
                RowLoss({1, 2, 3}, {1, 4}, {});
              });
  ExpectError(ErrorCode::kOutOfRange, "embedding_mask.start_past_end",
              {"discriminative_loss_grad: ", "[2, 1)"}, [&] {
                RowGrad({1, 2, 3}, {2, 1}, {});
              });
  const auto infer = [](const DDim& embedding, const DDim& mask) {
    InferOpShapes("discriminative_loss",
                  {{"Embedding", embedding}, {"Mask", mask}});
  };
  ExpectError(ErrorCode::kInvalidArgument, "infer_shape.rank",
              {"Embedding", "rank 4"}, [&] {
                infer({2, 3}, {2, 1, 3, 2});
              });
  ExpectError(ErrorCode::kInvalidArgument, "infer_shape.merge_dim",
              {"dim 1", "dim 2", "3 and 4"}, [&] {
                infer({2, 3, 5, 1}, {2, 1, 4, 2});
              });
}

// The masks themselves need no memory, but their means do.
TEST(DiscriminativeLoss, RefusesMoreMasksThanFitIntoMemory) {
  const Tensor x = Tensor::FromVector<float>({1, 0, 2, 1}, {});
  const auto refused = [&](int64_t masks, std::string_view check,
                           const std::string& part) {
    const Tensor mask = Tensor::FromVector<int32_t>({1, masks, 0, 2}, {});
    ExpectError(ErrorCode::kResourceExhausted, check, {part}, [&] {
      RunOp("discriminative_loss", {{"Embedding", x}, {"Mask", mask}});
    });
  };
  refused(int64_t{1} << 45, "memory.exhausted", "no room for");
  // The number of bytes exceeds 64 bits.
  refused(int64_t{1} << 59, "memory_planner.too_large", "at once: ");
}

TEST(DiscriminativeLoss, InfersUnknownShapes) {
  const auto loss = [](const DDim& embedding, const DDim& mask) {
    return InferOpShapes("discriminative_loss",
                         {{"Embedding", embedding}, {"Mask", mask}})
        .at("Loss");
  };
  EXPECT_EQ(loss({-1, 3, 4, 5}, {7, -1, -1, 2}), DDim({7}));
  EXPECT_EQ(loss(DDim::UnknownRank(), DDim::UnknownRank()), DDim({-1}));
}

}  // namespace
}  // namespace sluice

// The cases with which the harness tests every kernel of the ops.
namespace sluice::testing {
namespace {

std::vector<OpExample> LossExamples(ExampleMaker& make) {
  // Each hinge is active for some distances, and inactive for others.
  const AttributeMap attributes[] = {
      {},
      {{"delta_v", 0.0}, {"delta_d", 0.25}, {"regularization_weight", 0.5}},
      {{"delta_v", 0.125},
       {"variance_weight", 2.0},
       {"distance_weight", 0.25},
       {"regularization_weight", 0.0}}};
  std::vector<OpExample> examples = MaskExamples(make);
  for (size_t i = 0; i < examples.size(); ++i) {
    examples[i].attributes = attributes[i % 3];
  }
  return examples;
}

std::vector<OpExample> LossGradExamples(ExampleMaker& make) {
  std::vector<OpExample> examples = LossExamples(make);
  for (OpExample& example : examples) {
    example.inputs.emplace_back(
        "Loss@GRAD", make.Values({example.inputs[0].second.dims()[0]}));
  }
  return examples;
}

// The masks of one image that are not empty, and their means.
struct ImageOfMasks {
  std::vector<Pixels> masks;
  std::vector<std::vector<double>> means;
};

std::vector<ImageOfMasks> ImagesOf(const Array& x, const Array& mask) {
  std::vector<ImageOfMasks> images(static_cast<size_t>(x.dims[0]));
  ForEachMask(mask, x.dims, [&](int64_t b, int64_t, const Pixels& pixels) {
    if (pixels.empty()) return;
    std::vector<double> mean(static_cast<size_t>(x.dims[3]));
    for (const auto& [column, row] : pixels) {
      for (size_t n = 0; n < mean.size(); ++n) {
        mean[n] += x(b, column, row, n) / static_cast<double>(pixels.size());
      }
    }
    images[b].masks.push_back(pixels);
    images[b].means.push_back(mean);
  });
  return images;
}

std::vector<double> Difference(const std::vector<double>& a,
                               const std::vector<double>& b) {
  std::vector<double> difference = a;
  for (size_t n = 0; n < a.size(); ++n) {
    difference[n] -= b[n];
  }
  return difference;
}

double Length(const std::vector<double>& a) {
  double length = 0;
  for (const double value : a) {
    length = std::hypot(length, value);
  }
  return length;
}

std::vector<double> PixelOf(const Array& x,
                            int64_t b,
                            const std::pair<int64_t, int64_t>& at) {
  std::vector<double> pixel(static_cast<size_t>(x.dims[3]));
  for (size_t n = 0; n < pixel.size(); ++n) {
    pixel[n] = x(b, at.first, at.second, n);
  }
  return pixel;
}

double SquareAbove(double x) {
  return std::isnan(x) ? x : std::pow(std::fmax(x, 0), 2);
}

Arrays LossReference(const Arrays& in, const OpDesc& op) {
  const Array& x = in.at("Embedding");
  Array loss({x.dims[0]});
  const auto images = ImagesOf(x, in.at("Mask"));
  for (int64_t b = 0; b < x.dims[0]; ++b) {
    const auto& masks = images[b].masks;
    const auto& means = images[b].means;
    const auto count = static_cast<double>(masks.size());
    for (size_t m = 0; m < masks.size(); ++m) {
      double variance = 0, distance = 0;
      for (const auto& at : masks[m]) {
        const double length = Length(Difference(PixelOf(x, b, at), means[m]));
        variance += SquareAbove(length - GetAttr<double>(op, "delta_v")) /
                    static_cast<double>(masks[m].size());
      }
      // Visits each pair once.
      for (size_t other = 0; other < m; ++other) {
        const double apart = Length(Difference(means[m], means[other]));
        distance += SquareAbove(2 * GetAttr<double>(op, "delta_d") - apart) /
                    (count * (count - 1) / 2);
      }
      loss(b) += GetAttr<double>(op, "variance_weight") * variance / count +
                 GetAttr<double>(op, "distance_weight") * distance +
                 GetAttr<double>(op, "regularization_weight") *
                     Length(means[m]) / count;
    }
  }
  return {{"Loss", loss}};
}

// Adds `factor` times the unit vector along `direction` to the gradient of a
// pixel.
void AddAlong(const std::vector<double>& direction,
              double factor,
              int64_t b,
              const std::pair<int64_t, int64_t>& at,
              Array* grad) {
  const double length = Length(direction);
  for (size_t n = 0; n < direction.size() && length != 0; ++n) {
    (*grad)(b, at.first, at.second, n) += factor * direction[n] / length;
  }
}

// Adds the gradient of each norm separately; the gradient through a mean is
// divided equally among the pixels of its mask.
Arrays LossGradReference(const Arrays& in, const OpDesc& op) {
  const Array& x = in.at("Embedding");
  Array grad(x.dims);
  const auto images = ImagesOf(x, in.at("Mask"));
  for (int64_t b = 0; b < x.dims[0]; ++b) {
    const auto& masks = images[b].masks;
    const auto& means = images[b].means;
    const double given = in.at("Loss@GRAD")(b);
    const auto count = static_cast<double>(masks.size());
    const auto along_mean = [&](size_t m, const std::vector<double>& direction,
                                double factor) {
      for (const auto& at : masks[m]) {
        AddAlong(direction, factor / static_cast<double>(masks[m].size()), b,
                 at, &grad);
      }
    };
    for (size_t m = 0; m < masks.size(); ++m) {
      for (const auto& at : masks[m]) {
        const auto away = Difference(PixelOf(x, b, at), means[m]);
        const double over =
            std::fmax(Length(away) - GetAttr<double>(op, "delta_v"), 0);
        const double factor = given * GetAttr<double>(op, "variance_weight") *
                              2 * over / count /
                              static_cast<double>(masks[m].size());
        AddAlong(away, factor, b, at, &grad);
        along_mean(m, away, -factor);
      }
      for (size_t other = 0; other < m; ++other) {
        const auto apart = Difference(means[m], means[other]);
        const double missing =
            std::fmax(2 * GetAttr<double>(op, "delta_d") - Length(apart), 0);
        const double factor = given * GetAttr<double>(op, "distance_weight") *
                              2 * missing / (count * (count - 1) / 2);
        along_mean(m, apart, -factor);
        along_mean(other, apart, factor);
      }
      along_mean(m, means[m],
                 given * GetAttr<double>(op, "regularization_weight") / count);
    }
  }
  return {{"Embedding@GRAD", grad}};
}

REGISTER_OP_CASE(discriminative_loss, LossExamples, LossReference, 8);
REGISTER_OP_CASE(discriminative_loss_grad,
                 LossGradExamples,
                 LossGradReference,
                 8);

}  // namespace
}  // namespace sluice::testing
