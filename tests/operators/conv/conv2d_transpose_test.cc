#include <string>
#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include "tests/operators/harness/op_case.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/op/registry.h"

namespace sluice {
namespace {

using ::sluice::testing::InferOpShapes;
using Ints = std::vector<int64_t>;

TEST(Conv2dTransposeGrad, IsAConvolutionAndItsGradient) {
  OpDesc op;
  op.type = "conv2d_transpose";
  op.inputs = {{"Input", {"x"}}, {"Filter", {"w"}}, {"Bias", {"b"}}};
  op.outputs = {{"Output", {"y"}}};
  const auto gradient =
      Registry::Global().Schema("conv2d_transpose").gradient_fn();
  const auto grads = gradient(op);
  ASSERT_EQ(grads.size(), 3U);
  EXPECT_EQ(grads[0].type, "conv2d");
  EXPECT_EQ(grads[0].Output("Output"), ArgVars{"x@GRAD"});
  EXPECT_EQ(grads[1].type, "conv2d_grad_filter");
  EXPECT_EQ(grads[1].Output("Filter@GRAD"), ArgVars{"w@GRAD"});
  EXPECT_EQ(grads[2].type, "reduce_sum");
  EXPECT_EQ(grads[2].Output("Out"), ArgVars{"b@GRAD"});
  op.inputs.pop_back();
  EXPECT_EQ(gradient(op).size(), 2U);
}

DDim TransposedDims(const DDim& input,
                    const DDim& filter,
                    const AttributeMap& attributes = {}) {
  return InferOpShapes("conv2d_transpose",
                       {{"Input", input}, {"Filter", filter}}, attributes)
      .at("Output");
}

TEST(Conv2dTransposeShape, InfersShapes) {
  EXPECT_EQ(
      TransposedDims({2, 4, 5, 6}, {4, 3, 2, 2}, {{"strides", Ints{2, 2}}}),
      DDim({2, 3, 10, 12}));
  EXPECT_EQ(TransposedDims({2, 5, 6, 4}, {4, 3, 3, 2},
                           {{"strides", Ints{3, 2}},
                            {"paddings", Ints{1, 0, 2, 1}},
                            {"output_padding", Ints{2, 1}},
                            {"dilations", Ints{2, 1}},
                            {"groups", int64_t{2}},
                            {"data_format", std::string("NHWC")}}),
            DDim({2, 18, 10, 6}));
  EXPECT_EQ(TransposedDims({-1, 4, -1, 6}, {4, 3, 2, 2}), DDim({-1, 3, -1, 7}));
  EXPECT_EQ(TransposedDims(DDim::UnknownRank(), {4, 3, 2, 2}),
            DDim({-1, 3, -1, -1}));
  EXPECT_EQ(TransposedDims({1, 4, 5, 5}, DDim::UnknownRank()),
            DDim({1, -1, -1, -1}));
  EXPECT_EQ(InferOpShapes("conv2d_transpose", {{"Input", {1, 3, 5, 5}},
                                               {"Filter", {3, -1, 2, 2}},
                                               {"Bias", {8}}})["Output"],
            DDim({1, 8, 6, 6}));
}

}  // namespace
}  // namespace sluice
