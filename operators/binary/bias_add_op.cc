#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

void BiasAddShape(InferShapeContext& context) {
  const ShapeHandle x = context.WithRankAtLeast(context.input("X"), 2);
  const ShapeHandle bias = context.WithRank(context.input("Bias"), 1);
  const bool nchw = context.Attr<std::string>("data_format") == "NCHW";
  const DimHandle channels =
      context.Merge(context.Dim(x, nchw ? 1 : -1), context.Dim(bias, 0));
  DDim out = x;
  if (out.rank_known()) out[nchw ? 1 : out.rank() - 1] = channels.size;
  context.SetOutput("Out", out);
}

void BiasAddGradShape(InferShapeContext& context) {
  const ShapeHandle out_grad =
      context.WithRankAtLeast(context.input("Out@GRAD"), 2);
  const bool nchw = context.Attr<std::string>("data_format") == "NCHW";
  context.SetOutput("X@GRAD", out_grad);
  context.SetOutput("Bias@GRAD", {context.Dim(out_grad, nchw ? 1 : -1).size});
}

void BiasAddSchema(OpSchema& op) {
  op.Doc("Adds one number to all elements of each channel.");
  op.TypeVar("T", FloatDTypes());
  op.Input("X", "T",
           "[N, C, ...] for NCHW, [N, ..., C] for NHWC, of rank 2 or more.");
  op.Input("Bias", "T", "[C]: the numbers.");
  op.Output("Out", "T", "The sum, in X's shape.");
  op.Attr<std::string>("data_format",
                       "Where the channels are: dim 1 for NCHW, the last one "
                       "for NHWC.")
      .Default(std::string("NCHW"))
      .OneOf({"NCHW", "NHWC"});
  op.InferShape(BiasAddShape);
  op.SharesRows("Out", {"X"});
  op.Sizes({{"X", "64, n"}, {"Bias", "n"}});
}

constexpr GradientOp kBiasAddGrad = {
    .forward = BiasAddSchema,
    .doc =
        "The gradients of bias_add: that of Out for X, its sum over each "
        "channel for Bias.",
    .wanted = {"X", "Bias"},
    .shape = BiasAddGradShape,
    .add = [](OpSchema& op) { op.Alias("X@GRAD", "Out@GRAD"); }};

}  // namespace

REGISTER_OPERATOR(bias_add, WithGradient<kBiasAddGrad>);
REGISTER_OPERATOR(bias_add_grad, GradientSchema<kBiasAddGrad>);

}  // namespace sluice
