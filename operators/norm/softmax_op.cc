#include "sluice/operators/registration.h"
#include "sluice/operators/row_wise.h"
#include "sluice/operators/usual_shapes.h"

namespace sluice {
namespace {

void CheckAxis(const InferShapeContext& context, const ShapeHandle& x) {
  const auto axis = context.Attr<int64_t>("axis");
  context.Require(
      x.rank() < 0 || (axis >= -x.rank() && axis < x.rank()), "softmax.axis",
      "attribute axis = {} is no dimension of {}; expected {} to {}", axis,
      x.dims, -x.rank(), x.rank() - 1);
}

void SoftmaxShape(InferShapeContext& context) {
  const ShapeHandle x = context.WithRankAtLeast(context.input("X"), 1);
  CheckAxis(context, x);
  context.SetOutput("Out", x);
}

void SoftmaxGradShape(InferShapeContext& context) {
  const ShapeHandle out =
      context.Merge(context.input("Out"), context.input("Out@GRAD"));
  CheckAxis(context, context.WithRankAtLeast(out, 1));
  context.SetOutput("X@GRAD", out);
}

void SoftmaxAxis(OpSchema& op) {
  op.Attr<int64_t>("axis",
                   "The dimension that sums to 1; a negative one counts from "
                   "the end.")
      .Default(int64_t{-1});
}

void ForwardSchema(OpSchema& op) {
  op.TypeVar("T", FloatDTypes());
  op.Input("X", "T", "Of rank 1 or more.");
  op.Output("Out", "T", "In X's shape.");
  SoftmaxAxis(op);
  op.InferShape(SoftmaxShape).Gradient(GradientFromOut);
  op.SharesRows("Out", {"X"}, AxisSparesRows);
}

void SoftmaxSchema(OpSchema& op) {
  op.Doc("Out = exp(X) / the sum of exp(X) over one dimension.");
  ForwardSchema(op);
}

void LogSoftmaxSchema(OpSchema& op) {
  op.Doc(
      "The logarithm of softmax: Out = X - the logarithm of the sum of exp(X) "
      "over one dimension, also where softmax itself would be rounded to 0.");
  ForwardSchema(op);
  op.Torch("torch.log_softmax(X, axis)");
}

void BackwardSchema(OpSchema& op) {
  op.TypeVar("T", FloatDTypes());
  op.Input("Out", "T",
           "What the forward op gave. That its softmax sums to 1 is relied on: "
           "1 less an element above a half is the sum of the others.");
  op.Input("Out@GRAD", "T", "The gradient of Out.");
  op.Output("X@GRAD", "T", "The gradient of X.");
  SoftmaxAxis(op);
  op.InferShape(SoftmaxGradShape);
}

void SoftmaxGradSchema(OpSchema& op) {
  op.Doc(
      "The gradient of softmax: (Out@GRAD - the sum of Out@GRAD * Out over the "
      "dimension) * Out.");
  BackwardSchema(op);
}

void LogSoftmaxGradSchema(OpSchema& op) {
  op.Doc(
      "The gradient of log_softmax: Out@GRAD - exp(Out) * the sum of Out@GRAD "
      "over the dimension.");
  BackwardSchema(op);
}

}  // namespace

REGISTER_OPERATOR(softmax, SoftmaxSchema);
REGISTER_OPERATOR(softmax_grad, SoftmaxGradSchema);
REGISTER_OPERATOR(log_softmax, LogSoftmaxSchema);
REGISTER_OPERATOR(log_softmax_grad, LogSoftmaxGradSchema);

}  // namespace sluice
