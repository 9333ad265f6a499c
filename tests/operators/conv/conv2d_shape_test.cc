#include <string>
#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include <gtest/gtest.h>

// Results and errors of the shape functions of conv2d and its gradients.
namespace sluice {
namespace {

using testing::InferOpShapes;
using Ints = std::vector<int64_t>;

DDim OutputDims(const DDim& input,
                const DDim& filter,
                const AttributeMap& attributes = {}) {
  return InferOpShapes("conv2d", {{"Input", input}, {"Filter", filter}},
                       attributes)
      .at("Output");
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

}  // namespace
}  // namespace sluice
