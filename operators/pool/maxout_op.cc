#include <limits>

#include "sluice/operators/math/pool/maxouting.h"
#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/usual_shapes.h"

namespace sluice {
namespace {

DDim MaxOutOutShape(const InferShapeContext& context) {
  const DDim x = context.WithRank(context.input("X"), 4);
  const auto groups = context.Attr<int64_t>("groups");
  if (!x.rank_known()) return {-1, -1, -1, -1};
  DDim out = x;
  if (x[1] < 0) return out;
  context.Require(x[1] % groups == 0, "maxout.groups",
                  "groups = {} does not divide the {} channels of input X {}",
                  groups, x[1], x);
  out[1] = x[1] / groups;
  return out;
}

void MaxOutSchema(OpSchema& op) {
  op.Doc(
      "The maximum over each run of `groups` channels: Out[n, c, h, w] = max "
      "over g of X[n, c * groups + g, h, w]. NaN wins over every number.");
  op.TypeVar("T", FloatDTypes());
  op.Input("X", "T", "[N, C, H, W]; groups divides C.");
  op.Output("Out", "T", "[N, C / groups, H, W].");
  op.Attr<int64_t>("groups",
                   "How many neighbouring channels of X one channel of Out is "
                   "the maximum of.")
      .AtLeast(1)
      .AtMost(std::numeric_limits<int>::max());
  op.InferShape(OutShape<MaxOutOutShape>);
}

constexpr GradientOp kMaxoutGrad = {
    .forward = MaxOutSchema,
    .doc =
        "The gradient of maxout: each gradient of Out goes to the first of the "
        "channels that hold the maximum, the others get 0.",
    .inputs = {"X"},
    .dims = MaxOutOutShape};

template <typename DeviceContext, typename T>
class MaxOutKernel final : public OpKernel {
 public:
  explicit MaxOutKernel(const OpKernelConstruction& construction)
      : groups_(static_cast<int>(construction.Attr<int64_t>("groups"))) {}

  void Prepare(KernelPreparation& preparation) override {
    out_dims_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    MaxOutFunctor<DeviceContext, T>()(
        context.device_context<DeviceContext>(), context.Input(0),
        &context.AllocateOutput(0, out_dims_), groups_);
  }

 private:
  int groups_;
  DDim out_dims_;
};

template <typename DeviceContext, typename T>
class MaxOutGradKernel final : public OpKernel {
 public:
  explicit MaxOutGradKernel(const OpKernelConstruction& construction)
      : groups_(static_cast<int>(construction.Attr<int64_t>("groups"))) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    MaxOutGradFunctor<DeviceContext, T>()(
        context.device_context<DeviceContext>(), x, context.Input(1),
        &context.AllocateOutput(0, x.dims()), groups_);
  }

 private:
  int groups_;
};

}  // namespace

REGISTER_OPERATOR(maxout, WithGradient<kMaxoutGrad>);
REGISTER_OPERATOR(maxout_grad, GradientSchema<kMaxoutGrad>);
REGISTER_OP_CPU_KERNEL(maxout,
                       MaxOutKernel<CPUDeviceContext, FloatAndHalfTypes>);
REGISTER_OP_CPU_KERNEL(maxout_grad,
                       MaxOutGradKernel<CPUDeviceContext, FloatAndHalfTypes>);

}  // namespace sluice
