#include <cmath>
#include <random>
#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
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
