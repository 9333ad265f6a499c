#include "sluice/operators/registration.h"
#include "sluice/operators/usual_shapes.h"

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
  op.InferShape(MeanShape).Gradient(GradientFromX);
}

void MeanGradSchema(OpSchema& op) {
  op.Doc("The gradient of mean: the same share for each element of X.");
  op.TypeVar("T", FloatDTypes());
  op.Input("X", "T", "What mean was given.", {.shape_only = true});
  op.Input("Out@GRAD", "T", "The gradient of the mean, a scalar.");
  op.Output("X@GRAD", "T", "The gradient of X, in its shape.");
  op.InferShape(MeanGradShape);
}

}  // namespace

REGISTER_OPERATOR(mean, MeanSchema);
REGISTER_OPERATOR(mean_grad, MeanGradSchema);

}  // namespace sluice
