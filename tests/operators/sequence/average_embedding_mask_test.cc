#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include "tests/operators/harness/op_case.h"
#include "tests/operators/sequence/mask_examples.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using testing::InferOpShapes;

std::map<std::string, Tensor> Average(const Tensor& embedding,
                                      const Tensor& mask) {
  return RunOp("average_embedding_mask",
               {{"Embedding", embedding}, {"Mask", mask}});
}

// B = 1, X = 2, Y = 3, N = 2: pixel (x, y) has the features 10 x + y and -y.
template <typename T>
Tensor SmallImage() {
  std::vector<T> values;
  for (int x = 0; x < 2; ++x) {
    for (int y = 0; y < 3; ++y) {
      values.push_back(static_cast<T>(10 * x + y));
      values.push_back(static_cast<T>(-y));
    }
  }
  return Tensor::FromVector<T>({1, 2, 3, 2}, values);
}

template <typename Types>
class AverageEmbeddingMaskTest : public ::testing::Test {};
using Combinations = ::testing::Types<std::pair<float, int32_t>,
                                      std::pair<float, int64_t>,
                                      std::pair<double, int32_t>,
                                      std::pair<double, int64_t>>;
TYPED_TEST_SUITE(AverageEmbeddingMaskTest, Combinations);

TYPED_TEST(AverageEmbeddingMaskTest, AveragesThePixelsOfEachMask) {
  using T = typename TypeParam::first_type;
  using S = typename TypeParam::second_type;
  // Masks: one pixel; a run on both x; nothing; everything.
  const auto mask = Tensor::FromVector<S>(
      {1, 4, 2, 2}, {2, 3, 0, 0, 1, 3, 0, 2, 0, 0, 3, 3, 0, 3, 0, 3});
  auto outputs = Average(SmallImage<T>(), mask);
  EXPECT_EQ(outputs["Out"].dims(), DDim({1, 4, 2}));
  EXPECT_EQ(outputs["Out"].template ToVector<T>(),
            (std::vector<T>{2, -2, 6, -1, 0, 0, 6, -1}));
  EXPECT_EQ(outputs["Count"].dims(), DDim({1, 4}));
  EXPECT_EQ(outputs["Count"].template ToVector<int64_t>(),
            (std::vector<int64_t>{1, 4, 0, 6}));
}

TYPED_TEST(AverageEmbeddingMaskTest, AgreesWithAddingEachPixel) {
  using T = typename TypeParam::first_type;
  using S = typename TypeParam::second_type;
  std::mt19937 random(11);
  for (const int64_t features : {1, 3, 16, 19}) {
    const int64_t batch = 2;
    const int64_t masks = 5;
    const int64_t width = 7;
    const int64_t height = 33;
    std::vector<T> embedding(batch * width * height * features);
    for (T& value : embedding)
      value = static_cast<T>(random() % 1000) / 1000;
    std::vector<S> runs;
    std::vector<double> sums(batch * masks * features);
    std::vector<int64_t> counts(batch * masks);
    for (int64_t i = 0; i < batch * masks * width; ++i) {
      const auto start = static_cast<S>(random() % (height + 1));
      const auto end = start + static_cast<S>(random() % (height - start + 1));
      runs.insert(runs.end(), {start, static_cast<S>(end)});
      const int64_t mask = i / width;
      counts[mask] += end - start;
      for (int64_t y = start; y < end; ++y) {
        const int64_t pixel = (mask / masks * width + i % width) * height + y;
        for (int64_t k = 0; k < features; ++k) {
          sums[mask * features + k] += embedding[pixel * features + k];
        }
      }
    }
    auto outputs = Average(
        Tensor::FromVector<T>({batch, width, height, features}, embedding),
        Tensor::FromVector<S>({batch, masks, width, 2}, runs));
    EXPECT_EQ(outputs["Count"].template ToVector<int64_t>(), counts);
    const auto out = outputs["Out"].template ToVector<T>();
    for (size_t i = 0; i < out.size(); ++i) {
      const int64_t count = counts[i / features];
      ASSERT_NEAR(out[i], count == 0 ? 0 : sums[i] / count, 1e-5);
    }
  }
}

TEST(AverageEmbeddingMask, CountsAlsoWithoutFeatures) {
  const auto embedding = Tensor::FromVector<float>({1, 1, 3, 0}, {});
  const auto mask = Tensor::FromVector<int64_t>({1, 1, 1, 2}, {1, 3});
  EXPECT_EQ(Average(embedding, mask)["Count"].ToVector<int64_t>(),
            std::vector<int64_t>{2});
}

TEST(AverageEmbeddingMask, InfersUnknownShapes) {
  const auto shapes = InferOpShapes(
      "average_embedding_mask",
      {{"Embedding", {-1, -1, 8, 16}}, {"Mask", DDim::UnknownRank()}});
  EXPECT_EQ(shapes.at("Out"), DDim({-1, -1, 16}));
  EXPECT_EQ(
      InferOpShapes("average_embedding_mask",
                    {{"Embedding", {-1, -1, 8, 16}}, {"Mask", {4, 5, 6, 2}}})
          .at("Out"),
      DDim({4, 5, 16}));
}

// Pixels (0, 0) and (0, 1) are in the first mask, (0, 1) in the second; the
// third is empty.
TEST(AverageEmbeddingMaskGrad, SharesOutAmongThePixelsOfEachMask) {
  const auto mask = Tensor::FromVector<int32_t>(
      {1, 3, 2, 2}, {0, 2, 3, 3, 1, 2, 0, 0, 0, 0, 0, 0});
  const float nan = std::nanf("");
  const auto gradient = [&](float first) {
    const auto grad =
        Tensor::FromVector<float>({1, 3, 2}, {first, 6, 8, 10, nan, nan});
    return RunOp("average_embedding_mask_grad",
                 {{"Embedding", SmallImage<float>()},
                  {"Mask", mask},
                  {"Out@GRAD", grad}})["Embedding@GRAD"]
        .ToVector<float>();
  };
  EXPECT_EQ(gradient(4), (std::vector<float>{2, 3, 10, 13, 0, 0,  //
                                             0, 0, 0, 0, 0, 0}));
  const std::vector<float> with_nan = gradient(nan);
  for (size_t i = 0; i < with_nan.size(); ++i) {
    EXPECT_EQ(std::isnan(with_nan[i]), i == 0 || i == 2) << i;
  }
}

}  // namespace
}  // namespace sluice

// The case with which the harness tests every kernel of the op.
namespace sluice::testing {
namespace {

std::vector<OpExample> AverageGradExamples(ExampleMaker& make) {
  std::vector<OpExample> examples = MaskExamples(make);
  for (OpExample& example : examples) {
    const auto& mask = example.inputs[1].second.dims();
    example.inputs.emplace_back(
        "Out@GRAD",
        make.Values({mask[0], mask[1], example.inputs[0].second.dims()[3]}));
  }
  return examples;
}

Arrays AverageReference(const Arrays& in, const OpDesc&) {
  const Array& image = in.at("Embedding");
  const Array& mask = in.at("Mask");
  Array mean({mask.dims[0], mask.dims[1], image.dims[3]});
  Array count({mask.dims[0], mask.dims[1]});
  for (size_t i = 0; i < count.values.size(); ++i) {
    const auto at = count.IndexOf(static_cast<int64_t>(i));
    const int64_t b = at[0], m = at[1];
    for (int64_t x = 0; x < image.dims[1]; ++x) {
      for (int64_t y = 0; y < image.dims[2]; ++y) {
        const auto place = static_cast<double>(y);
        if (place < mask(b, m, x, 0) || place >= mask(b, m, x, 1)) continue;
        count(b, m) += 1;
        for (int64_t n = 0; n < image.dims[3]; ++n) {
          mean(b, m, n) += image(b, x, y, n);
        }
      }
    }
    for (int64_t n = 0; n < image.dims[3]; ++n) {
      mean(b, m, n) /= std::max(1.0, count(b, m));
    }
  }
  return {{"Out", mean}, {"Count", count}};
}

// Masks one by one: each spreads its gradient over its pixels.
Arrays AverageGradReference(const Arrays& in, const OpDesc&) {
  const Array& mask = in.at("Mask");
  Array grad(in.at("Embedding").dims);
  ForEachMask(mask, grad.dims, [&](int64_t b, int64_t m, const Pixels& pixels) {
    for (const auto& [x, y] : pixels) {
      for (int64_t n = 0; n < grad.dims[3]; ++n) {
        grad(b, x, y, n) +=
            in.at("Out@GRAD")(b, m, n) / static_cast<double>(pixels.size());
      }
    }
  });
  return {{"Embedding@GRAD", grad}};
}

REGISTER_OP_CASE(average_embedding_mask, MaskExamples, AverageReference, 4);
REGISTER_OP_CASE(average_embedding_mask_grad,
                 AverageGradExamples,
                 AverageGradReference,
                 4);

}  // namespace
}  // namespace sluice::testing
