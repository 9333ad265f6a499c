#include <algorithm>
#include <type_traits>

#include "sluice/operators/conversion/widened_kernel.h"
#include "sluice/operators/math/softmax.h"
#include "sluice/operators/math/work.h"
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

void SoftmaxArguments(OpSchema& op) {
  op.TypeVar("T", FloatDTypes());
  op.Input("X", "T", "Of rank 1 or more.");
  op.Output("Out", "T", "In X's shape.");
  op.Attr<int64_t>("axis",
                   "The dimension that sums to 1; a negative one counts from "
                   "the end.")
      .Default(int64_t{-1});
  op.InferShape(SoftmaxShape).Family("softmax");
  op.SharesRows("Out", {"X"}, AxisSparesRows);
}

void SoftmaxSchema(OpSchema& op) {
  op.Doc("Out = exp(X) / the sum of exp(X) over one dimension.");
  SoftmaxArguments(op);
  op.Onnx({"Softmax", {}});
}

void LogSoftmaxSchema(OpSchema& op) {
  op.Doc(
      "The logarithm of softmax: Out = X - the logarithm of the sum of exp(X) "
      "over one dimension, also where softmax itself would be rounded to 0.");
  SoftmaxArguments(op);
  op.Onnx({"LogSoftmax", {}}).Torch("torch.log_softmax(X, axis)");
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

SoftmaxDims DimsOf(const DDim& x, int64_t axis) {
  const auto at = static_cast<int>(axis < 0 ? axis + x.rank() : axis);
  return {x.Product(0, at), x[at], x.Product(at + 1, x.rank())};
}

// Whether an op is the logarithm of softmax.
using Plain = std::false_type;
using Logarithm = std::true_type;

template <typename T, typename Log>
class SoftmaxKernel final : public OpKernel {
 public:
  explicit SoftmaxKernel(const OpKernelConstruction& construction)
      : axis_(construction.Attr<int64_t>("axis")) {}

  void Prepare(KernelPreparation& preparation) override {
    dims_ = DimsOf(preparation.query.inputs[0], axis_);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Tensor& out = context.AllocateOutput(0, x.dims());
    if (out.numel() == 0) return;
    Softmax<T>(Log::value ? SoftmaxStep::kLogSoftmax : SoftmaxStep::kSoftmax,
               dims_, x.data<T>(), nullptr, out.data<T>());
  }

 private:
  int64_t axis_;
  SoftmaxDims dims_;
};

template <typename T, typename Log>
class SoftmaxGradKernel final : public OpKernel {
 public:
  explicit SoftmaxGradKernel(const OpKernelConstruction& construction)
      : axis_(construction.Attr<int64_t>("axis")) {}

  void Prepare(KernelPreparation& preparation) override {
    dims_ = DimsOf(preparation.query.inputs[0], axis_);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& out = context.Input(0);
    Tensor& grad = context.AllocateOutput(0, out.dims());
    if (grad.numel() == 0) return;
    Softmax(Log::value ? SoftmaxStep::kLogGrad : SoftmaxStep::kGrad, dims_,
            out.data<T>(), context.Input(1).data<T>(), grad.data<T>());
  }

 private:
  int64_t axis_;
  SoftmaxDims dims_;
};

// Each row takes two passes from a cache, and additional steps at its ends;
// columns are read again in vectors.
KernelWork ForwardWork(const KernelQuery& query) {
  const DDim& x = query.outputs[0];
  if (x.numel() == 0) return {};
  const SoftmaxDims dims = DimsOf(x, query.Attr<int64_t>("axis"));
  KernelWork work = DefaultKernelWork(query);
  work.terms = static_cast<double>(query.inputs[0].numel());
  if (dims.inner == 1) work.rows = static_cast<double>(dims.outer);
  const auto size = static_cast<int64_t>(SizeOf(query.output_dtypes[0]));
  if (dims.inner > 1) {
    work.evicted = work.terms * EvictedShare(dims.inner * size, dims.size);
  }
  return work;
}
KernelWork GradWork(const KernelQuery& query) {
  const DDim& x = query.outputs[0];
  if (x.numel() == 0) return {};
  KernelWork work = ForwardWork(query);
  const SoftmaxDims dims = DimsOf(x, query.Attr<int64_t>("axis"));
  work.terms = work.evicted = 0;
  work.flops *= 4;
  work.rows = static_cast<double>(dims.outer * dims.inner);
  return work;
}

}  // namespace

REGISTER_OPERATOR(softmax, WithGradient<kSoftmaxGrad>);
REGISTER_OPERATOR(softmax_grad, GradientSchema<kSoftmaxGrad>);
REGISTER_OPERATOR(log_softmax, WithGradient<kLogSoftmaxGrad>);
REGISTER_OPERATOR(log_softmax_grad, GradientSchema<kLogSoftmaxGrad>);
REGISTER_OP_CPU_KERNEL(softmax,
                       EstimatedBy<&ForwardWork>,
                       SoftmaxKernel<FloatsAndWidenedHalves, Plain>);
REGISTER_OP_CPU_KERNEL(softmax_grad,
                       EstimatedBy<&GradWork>,
                       SoftmaxGradKernel<FloatsAndWidenedHalves, Plain>);
REGISTER_OP_CPU_KERNEL(log_softmax,
                       EstimatedBy<&ForwardWork>,
                       SoftmaxKernel<FloatsAndWidenedHalves, Logarithm>);
REGISTER_OP_CPU_KERNEL(log_softmax_grad,
                       SoftmaxGradKernel<FloatsAndWidenedHalves, Logarithm>);

}  // namespace sluice
