#include <gtest/gtest.h>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/op/registry.h"

namespace sluice {
namespace {

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

}  // namespace
}  // namespace sluice
