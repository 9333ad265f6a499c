#include "sluice/operators/math/fill.h"
#include "sluice/operators/math/half_conversions.h"
#include "sluice/operators/math/reduction/reduce_sum.h"
#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"

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
  op.Family("loss");  // most losses end with it
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

template <typename T>
class MeanKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    const DDim& x = preparation.query.inputs[0];
    std::array<bool, DDim::kMaxRank> all{};
    all.fill(true);
    plan_ = PlanReduce(x, all);
    plan_.divisor = static_cast<double>(x.numel());
    preparation.scratch_bytes = plan_.scratch_bytes;
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    T* out = context.AllocateOutput(0, DDim()).data<T>();
    ReduceSum(plan_, x.data<T>(), out, context.scratch());
  }

 private:
  ReducePlan plan_;
};

template <typename T>
class MeanGradKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    x_dims_ = preparation.query.inputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    Tensor& x_grad = context.AllocateOutput(0, x_dims_);
    const int64_t count = x_grad.numel();
    if (count == 0) return;
    using Value = Computed<T>;
    const Value share =
        Widen(*context.Input(1).data<T>()) / static_cast<Value>(count);
    Fill(Narrow<T>(share), count, x_grad.data<T>());
  }

 private:
  DDim x_dims_;
};

}  // namespace

REGISTER_OPERATOR(mean, WithGradient<kMeanGrad>);
REGISTER_OPERATOR(mean_grad, GradientSchema<kMeanGrad>);
REGISTER_OP_CPU_KERNEL(mean, MeanKernel<FloatAndHalfTypes>);
REGISTER_OP_CPU_KERNEL(mean_grad, MeanGradKernel<FloatAndHalfTypes>);

}  // namespace sluice
