#include <limits>
#include <string>
#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

// Results and errors of the shape functions of conv2d and its gradients.
namespace sluice {
namespace {

using testing::ExpectError;
using testing::InferOpShapes;
using Ints = std::vector<int64_t>;

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

DDim OutputDims(const DDim& input,
                const DDim& filter,
                const AttributeMap& attributes = {}) {
  return InferOpShapes("conv2d", {{"Input", input}, {"Filter", filter}},
                       attributes)
      .at("Output");
}

void ExpectRefused(const std::string& check_id,
                   std::initializer_list<std::string_view> words,
                   const DDim& input,
                   const DDim& filter,
                   const AttributeMap& attributes) {
  ExpectError(ErrorCode::kInvalidArgument, check_id, words,
              [&] { OutputDims(input, filter, attributes); });
}

TEST(Conv2dShape, InfersShapes) {
  EXPECT_EQ(OutputDims({2, 3, 9, 7}, {4, 3, 3, 3}, {{"strides", Ints{2, 1}}}),
            DDim({2, 4, 4, 5}));
  EXPECT_EQ(OutputDims({2, 9, 7, 4}, {6, 2, 3, 3},
                       {{"dilations", Ints{2, 3}},
                        {"paddings", Ints{1, 2}},
                        {"groups", int64_t{2}},
                        {"data_format", std::string("NHWC")}}),
            DDim({2, 7, 5, 6}));
  EXPECT_EQ(OutputDims({-1, 3, -1, 7}, {4, 3, 3, 3}), DDim({-1, 4, -1, 5}));
  EXPECT_EQ(OutputDims(DDim::UnknownRank(), {4, 3, 3, 3}),
            DDim({-1, 4, -1, -1}));
  EXPECT_EQ(OutputDims({1, 3, 5, 5}, DDim::UnknownRank()),
            DDim({1, -1, -1, -1}));
  EXPECT_EQ(InferOpShapes("conv2d", {{"Input", {1, 3, 5, 5}},
                                     {"Filter", {-1, 3, 5, 5}},
                                     {"Bias", {8}}})["Output"],
            DDim({1, 8, 1, 1}));
}

TEST(Conv2dShape, RefusesStridesAndDilationsBelow1) {
  for (const int64_t bad : {int64_t{0}, int64_t{-1}, kMin}) {
    const std::string number = std::to_string(bad);
    ExpectRefused("window.stride", {"conv2d", "strides[1] = " + number},
                  {1, 1, 4, 4}, {1, 1, 2, 2}, {{"strides", Ints{1, bad}}});
    ExpectRefused("window.dilation", {"dilations[0] = " + number}, {1, 1, 4, 4},
                  {1, 1, 2, 2}, {{"dilations", Ints{bad, 1}}});
    ExpectRefused("conv2d.groups", {"groups = " + number}, {1, 1, 4, 4},
                  {1, 1, 2, 2}, {{"groups", bad}});
  }
}

TEST(Conv2dShape, RefusesPaddingsBelow0) {
  for (const int64_t bad : {int64_t{-1}, kMin}) {
    ExpectRefused("window.padding", {"conv2d", "paddings[3]"}, {1, 1, 4, 4},
                  {1, 1, 2, 2}, {{"paddings", Ints{0, 0, 0, bad}}});
  }
}

TEST(Conv2dShape, RefusesListsOfOtherLengths) {
  ExpectRefused("window.paddings", {"paddings has 3 entries"}, {1, 1, 4, 4},
                {1, 1, 2, 2}, {{"paddings", Ints{0, 0, 0}}});
  ExpectRefused("window.pair", {"strides has 1 entries"}, {1, 1, 4, 4},
                {1, 1, 2, 2}, {{"strides", Ints{1}}});
  ExpectRefused("window.pair", {"dilations has 0 entries"}, {1, 1, 4, 4},
                {1, 1, 2, 2}, {{"dilations", Ints{}}});
}

TEST(Conv2dShape, RefusesKernelsThatDoNotFit) {
  ExpectRefused("window.kernel", {"kernel's width is 0"}, {1, 1, 4, 4},
                {1, 1, 2, 0}, {});
  ExpectRefused("window.too_large", {"height", "3 with dilation 2", "0 + 2"},
                {1, 1, 2, 4}, {1, 1, 2, 2}, {{"dilations", Ints{2, 1}}});
  ExpectRefused("window.too_large", {"width", "5 elements", "1 + 2 + 1"},
                {1, 1, 5, 2}, {1, 1, 2, 5}, {{"paddings", Ints{0, 1}}});
}

TEST(Conv2dShape, RefusesSizesThatOverflow) {
  ExpectRefused("window.overflow", {"height", "64 bits"}, {1, 1, 4, 4},
                {1, 1, 3, 2}, {{"dilations", Ints{kMax, 1}}});
  ExpectRefused("window.overflow", {"width"}, {1, 1, 4, 4}, {1, 1, 2, 2},
                {{"paddings", Ints{0, 0, kMax, 1}}});
}

TEST(Conv2dShape, RefusesChannelsThatDoNotFit) {
  ExpectRefused("conv2d.input_groups", {"groups = 2", "3 channels"},
                {1, 3, 4, 4}, {4, 1, 2, 2}, {{"groups", int64_t{2}}});
  ExpectRefused("conv2d.filter_groups", {"groups = 2", "5 output channels"},
                {1, 4, 4, 4}, {5, 2, 2, 2}, {{"groups", int64_t{2}}});
  ExpectRefused("conv2d.channels",
                {"[4, 3, 2, 2]", "3 input channels", "has 4"}, {1, 4, 4, 4},
                {4, 3, 2, 2}, {});
  ExpectRefused("conv2d.channels", {"3 input channels", "has 5"}, {1, 3, 4, 5},
                {4, 3, 2, 2}, {{"data_format", std::string("NHWC")}});
  ExpectError(ErrorCode::kInvalidArgument, "infer_shape.merge_dim",
              {"conv2d", "Bias", "[3]", "Filter"}, [] {
                InferOpShapes("conv2d", {{"Input", {1, 1, 4, 4}},
                                         {"Filter", {2, 1, 2, 2}},
                                         {"Bias", {3}}});
              });
}

TEST(Conv2dShape, RefusesOtherRanks) {
  ExpectRefused("infer_shape.rank", {"conv2d", "Input", "rank 4"}, {1, 4, 4},
                {1, 1, 2, 2}, {});
  ExpectRefused("infer_shape.rank", {"conv2d", "Filter", "rank 4"},
                {1, 1, 4, 4}, {1, 2, 2}, {});
}

TEST(Conv2dShape, RefusesAGradientOfAnotherShape) {
  for (const char* op : {"conv2d_grad_input", "conv2d_grad_filter"}) {
    ExpectError(ErrorCode::kInvalidArgument, "infer_shape.merge_dim",
                {op, "Output@GRAD"}, [&] {
                  InferOpShapes(op, {{"Input", {1, 1, 4, 4}},
                                     {"Filter", {1, 1, 2, 2}},
                                     {"Output@GRAD", {1, 1, 3, 4}}});
                });
  }
}

}  // namespace
}  // namespace sluice
