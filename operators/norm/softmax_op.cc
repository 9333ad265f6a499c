#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/row_wise.h"

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

void ForwardSchema(OpSchema& op) {
  op.TypeVar("T", FloatDTypes());
  op.Input("X", "T", "Of rank 1 or more.");
  op.Output("Out", "T", "In X's shape.");
  op.Attr<int64_t>("axis",
                   "The dimension that sums to 1; a negative one counts from "
                   "the end.")
      .Default(int64_t{-1});
  op.InferShape(SoftmaxShape);
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

constexpr GradientOp kSoftmaxGrad = {
    .forward = SoftmaxSchema,
    .doc =
        "The gradient of softmax: (Out@GRAD - the sum of Out@GRAD * Out over "
        "the dimension) * Out. That Out sums to 1 is relied on: 1 less an "
        "element above a half is the sum of the others.",
    .outputs = {"Out"},
    .shape = SoftmaxGradShape};

constexpr GradientOp kLogSoftmaxGrad = {
    .forward = LogSoftmaxSchema,
    .doc =
        "The gradient of log_softmax: Out@GRAD - exp(Out) * the sum of "
        "Out@GRAD over the dimension. That exp(Out) sums to 1 is relied on: 1 "
        "less an element above a half is the sum of the others.",
    .outputs = {"Out"},
    .shape = SoftmaxGradShape};

}  // namespace

REGISTER_OPERATOR(softmax, WithGradient<kSoftmaxGrad>);
REGISTER_OPERATOR(softmax_grad, GradientSchema<kSoftmaxGrad>);
REGISTER_OPERATOR(log_softmax, WithGradient<kLogSoftmaxGrad>);
REGISTER_OPERATOR(log_softmax_grad, GradientSchema<kLogSoftmaxGrad>);

}  // namespace sluice
