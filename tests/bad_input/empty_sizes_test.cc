#include <algorithm>
#include <functional>

#include "tests/bad_input/bad_input.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

// Size 0 in each dimension: the result is empty, or the value of the formula,
// or an error if that is undefined.
namespace sluice::testing {
namespace {

using Ints = std::vector<int64_t>;

Tensor Zeros(DType dtype, const DDim& dims) {
  Tensor tensor;
  tensor.Resize(dims).mutable_data(dtype, CPUPlace());
  std::fill_n(static_cast<char*>(tensor.raw_data()), tensor.bytes(), 0);
  return tensor;
}

// The shape of the only output.
DDim ShapeOf(const std::string& op,
             const OpArguments& inputs,
             const AttributeMap& attributes = {}) {
  return RunOp(op, inputs, attributes).at("Out").dims();
}

TEST(EmptySizes, OfOneInputThatKeepsItsShape) {
  for (const DDim& dims : {DDim{0, 3, 4}, {2, 0, 4}, {2, 3, 0}, {0, 0, 0}}) {
    const OpArguments x = {{"X", Floats(dims)}};
    EXPECT_EQ(ShapeOf("scale", x), dims);
    EXPECT_EQ(ShapeOf("cast", x, {{"dtype", DType::kInt8}}), dims);
    EXPECT_EQ(ShapeOf("quantize_and_dequantize", x, {{"max", 1.0}}), dims);
    EXPECT_EQ(ShapeOf("reshape", x, {{"shape", Ints{0, 0, 0}}}), dims);
    EXPECT_EQ(ShapeOf("transpose", x, {{"axis", Ints{2, 0, 1}}}),
              DDim({dims[2], dims[0], dims[1]}));
    EXPECT_EQ(ShapeOf("elementwise_add", {x[0], {"Y", Floats(dims)}}), dims);
    EXPECT_EQ(ShapeOf("crop", x, {{"shape", Ints{dims[0], dims[1], dims[2]}}}),
              dims);
    EXPECT_EQ(ShapeOf("bias_add", {x[0], {"Bias", Floats({dims[1]})}}), dims);
  }
  ExpectNextRunWorks();
}

TEST(EmptySizes, OfABoxCutOutOfElements) {
  for (const Ints& shape : {Ints{0, 3}, Ints{2, 0}}) {
    EXPECT_EQ(ShapeOf("crop", {{"X", Floats({2, 3})}}, {{"shape", shape}}),
              DDim(shape));
  }
  const Tensor grad =
      RunOp("crop_grad", {{"X", Floats({2, 3})}, {"Out@GRAD", Floats({0, 3})}},
            {{"shape", Ints{0, 3}}})
          .at("X@GRAD");
  EXPECT_EQ(grad.ToVector<float>(), std::vector<float>(6, 0.0f));
}

TEST(EmptySizes, OfManhattanDistance) {
  const auto distance = [](int64_t n, int64_t m, int64_t p) {
    return RunOp("manhattan_distance",
                 {{"X", Floats({n, p})}, {"Y", Floats({m, p})}})
        .at("Out");
  };
  EXPECT_EQ(distance(0, 3, 2).dims(), DDim({0, 3}));
  EXPECT_EQ(distance(3, 0, 2).dims(), DDim({3, 0}));
  EXPECT_EQ(distance(2, 3, 0).ToVector<float>(), std::vector<float>(6, 0.0f));
}

TEST(EmptySizes, OfTheGradientOfManhattanDistance) {
  const auto gradients = [](int64_t n, int64_t m, int64_t p) {
    return RunOp("manhattan_distance_grad",
                 {{"X", Floats({n, p})},
                  {"Y", Floats({m, p})},
                  {"Out@GRAD", Floats({n, m})}},
                 {}, {.outputs = {"X@GRAD", "Y@GRAD"}});
  };
  EXPECT_EQ(gradients(0, 3, 2).at("Y@GRAD").ToVector<float>(),
            std::vector<float>(6, 0.0f));
  EXPECT_EQ(gradients(3, 0, 2).at("X@GRAD").ToVector<float>(),
            std::vector<float>(6, 0.0f));
  EXPECT_EQ(gradients(2, 3, 0).at("X@GRAD").dims(), DDim({2, 0}));
}

TEST(EmptySizes, OfMaxOut) {
  const AttributeMap groups = {{"groups", int64_t{2}}};
  for (DDim dims :
       {DDim{0, 4, 3, 3}, {2, 0, 3, 3}, {2, 4, 0, 3}, {2, 4, 3, 0}}) {
    DDim half = dims;
    half[1] /= 2;
    EXPECT_EQ(ShapeOf("maxout", {{"X", Floats(dims)}}, groups), half);
    const auto grad =
        RunOp("maxout_grad", {{"X", Floats(dims)}, {"Out@GRAD", Floats(half)}},
              groups);
    EXPECT_EQ(grad.at("X@GRAD").dims(), dims);
  }
}

TEST(EmptySizes, OfTopK) {
  EXPECT_EQ(ShapeOf("top_k", {{"X", Floats({0, 5})}}), DDim({0, 1}));
  EXPECT_EQ(ShapeOf("top_k", {{"X", Floats({2, 0, 5})}}), DDim({2, 0, 1}));
  ExpectRefusedOp(ErrorCode::kInvalidArgument, "top_k.k_range",
                  {"top_k: ", "k = 1", "input X [3, 0]"}, "top_k",
                  {{"X", Floats({3, 0})}});
}

TEST(EmptySizes, OfGather) {
  const Tensor none = Zeros(DType::kInt32, {0});
  const Tensor one = Zeros(DType::kInt32, {1});
  EXPECT_EQ(ShapeOf("gather", {{"X", Floats({3, 2})}, {"Index", none}}),
            DDim({0, 2}));
  EXPECT_EQ(ShapeOf("gather", {{"X", Floats({3, 0})}, {"Index", one}}),
            DDim({1, 0}));
  EXPECT_EQ(ShapeOf("gather", {{"X", Floats({0, 2})}, {"Index", none}}),
            DDim({0, 2}));
  ExpectRefusedData("gather.index_range_at_run",
                    {"gather: ", "Index", "[0, 2]"}, "gather",
                    {{"X", Floats({0, 2})}, {"Index", one}}, {}, {1, 2},
                    ErrorCode::kOutOfRange);
}

TEST(EmptySizes, OfAccuracy) {
  const auto right =
      RunOp("accuracy", {{"Indices", Zeros(DType::kInt64, {3, 0})},
                         {"Label", Zeros(DType::kInt64, {3})}});
  EXPECT_EQ(right.at("Correct").ToVector<int32_t>()[0], 0);
  ExpectRefusedOp(ErrorCode::kInvalidArgument, "accuracy.empty",
                  {"accuracy: ", "input Label [0]", "1 or more"}, "accuracy",
                  {{"Indices", Zeros(DType::kInt64, {0, 1})},
                   {"Label", Zeros(DType::kInt64, {0})}});
}

TEST(EmptySizes, OfReduceSum) {
  const auto sum = [](const DDim& dims) {
    return RunOp("reduce_sum", {{"X", Floats(dims)}}, {{"dim", Ints{0}}})
        .at("Out");
  };
  EXPECT_EQ(sum({0, 2}).ToVector<float>(), std::vector<float>(2, 0.0f));
  EXPECT_EQ(sum({2, 0}).dims(), DDim({0}));
}

TEST(EmptySizes, OfAverageEmbeddingMask) {
  const auto average = [](const DDim& image, int64_t masks) {
    return RunOp(
        "average_embedding_mask",
        {{"Embedding", Floats(image)},
         {"Mask", Zeros(DType::kInt32, {image[0], masks, image[1], 2})}});
  };
  EXPECT_EQ(average({0, 2, 3, 4}, 2).at("Out").dims(), DDim({0, 2, 4}));
  EXPECT_EQ(average({1, 2, 3, 4}, 0).at("Out").dims(), DDim({1, 0, 4}));
  EXPECT_EQ(average({1, 2, 3, 0}, 2).at("Out").dims(), DDim({1, 2, 0}));
  for (const DDim& image : {DDim{1, 0, 3, 2}, {1, 2, 0, 2}}) {
    const auto out = average(image, 2);
    EXPECT_EQ(out.at("Out").ToVector<float>(), std::vector<float>(4, 0.0f));
    EXPECT_EQ(out.at("Count").ToVector<int64_t>(), std::vector<int64_t>(2, 0));
  }
}

// There is no range, but no element that needs one either.
TEST(EmptySizes, OfTheDataThatARangeIsTakenFrom) {
  EXPECT_EQ(ShapeOf("quantize_and_dequantize", {{"X", Floats({2, 0})}},
                    {{"range_given", false}}),
            DDim({2, 0}));
}

}  // namespace
}  // namespace sluice::testing
