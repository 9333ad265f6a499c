#include "sluice/operators/op_gradients.h"

namespace sluice {
namespace {

void MeanShape(InferShapeContext& context) {
  context.SetOutput("Out", InferShapeContext::Scalar());
}

void MeanGradShape(InferShapeContext& context) {
  context.WithRank(context.input("Out@GRAD"), 0);
  context.SetOutput("X@GRAD", context.input("X"));
}

void MeanSchema(OpSchema& op) {
  op.Doc(
      "The mean of all elements, summed as by reduce_sum and rounded once. "
      "That of no elements is NaN.");
  op.TypeVar("T", FloatDTypes());
  op.Input("X", "T", "A tensor of any shape.");
  op.Output("Out", "T", "A scalar (rank 0).");
  op.InferShape(MeanShape);
}

constexpr GradientOp kMeanGrad = {
    .forward = MeanSchema,
    .doc = "The gradient of mean: the same share for each element of X.",
    .inputs = {ShapeOf("X")},
    .shape = MeanGradShape};

}  // namespace

REGISTER_OPERATOR(mean, WithGradient<kMeanGrad>);
REGISTER_OPERATOR(mean_grad, GradientSchema<kMeanGrad>);

}  // namespace sluice
