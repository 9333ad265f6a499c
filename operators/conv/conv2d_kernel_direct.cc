#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/conv/conv2d_kernel.h"
#include "sluice/operators/math/conv/channel_sum.h"
#include "sluice/operators/math/conv/conv2d_direct.h"
#include "sluice/operators/math/conv/conv2d_work.h"

namespace sluice::operators {
namespace {

using framework::KernelPreparation;
using framework::KernelTraits;
using framework::OpKernel;
using framework::OpKernelConstruction;
using framework::OpKernelContext;
using framework::Tensor;

// With fewer channels a group, products are thin matrices.
constexpr int64_t kThinGroup = 4;

template <typename T>
class Conv2dDirectKernel final : public OpKernel {
 public:
  explicit Conv2dDirectKernel(const OpKernelConstruction& /*construction*/) {}

  void Prepare(KernelPreparation& preparation) override {
    geometry_ = Conv2dGeometryOf(preparation.query);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& input = context.Input("Input");
    const Tensor& filter = context.Input("Filter");
    const T* bias =
        context.HasInput("Bias") ? context.Input("Bias").data<T>() : nullptr;
    Tensor& output =
        context.AllocateOutput("Output", Conv2dOutputDims(geometry_));
    if (output.numel() == 0) return;
    math::Conv2dDirect(geometry_, input.data<T>(), filter.data<T>(), bias,
                       output.data<T>());
  }

 private:
  math::Conv2dGeometry geometry_;
};

template <typename T>
class Conv2dDirectGradInputKernel final : public OpKernel {
 public:
  explicit Conv2dDirectGradInputKernel(
      const OpKernelConstruction& /*construction*/) {}

  void Prepare(KernelPreparation& preparation) override {
    geometry_ = Conv2dGeometryOf(preparation.query);
    dims_ = preparation.query.inputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& filter = context.Input("Filter");
    const Tensor& grad = context.Input("Output@GRAD");
    Tensor& out = context.AllocateOutput("Input@GRAD", dims_);
    if (out.numel() == 0) return;
    math::Conv2dDirectGradInput(geometry_, filter.data<T>(), grad.data<T>(),
                                out.data<T>());
  }

 private:
  math::Conv2dGeometry geometry_;
  framework::DDim dims_;
};

template <typename T>
class Conv2dDirectGradFilterKernel final : public OpKernel {
 public:
  explicit Conv2dDirectGradFilterKernel(
      const OpKernelConstruction& /*construction*/) {}

  void Prepare(KernelPreparation& preparation) override {
    geometry_ = Conv2dGeometryOf(preparation.query);
    dims_ = preparation.query.inputs[1];
  }

  void Compute(OpKernelContext& context) const override {
    const math::Conv2dGeometry& g = geometry_;
    const Tensor& input = context.Input("Input");
    const Tensor& grad = context.Input("Output@GRAD");
    if (context.HasOutput("Bias@GRAD")) {
      Tensor& out = context.AllocateOutput("Bias@GRAD", {g.out_c});
      math::ChannelSum(grad.data<T>(), g.n, g.out_c, g.out_pixels(), g.nhwc,
                       out.data<T>());
    }
    if (!context.HasOutput("Filter@GRAD")) return;
    Tensor& out = context.AllocateOutput("Filter@GRAD", dims_);
    if (out.numel() == 0) return;
    math::Conv2dDirectGradFilter(g, input.data<T>(), grad.data<T>(),
                                 out.data<T>());
  }

 private:
  math::Conv2dGeometry geometry_;
  framework::DDim dims_;
};

std::string ThinGroups(const framework::KernelQuery& query) {
  const math::Conv2dGeometry g = Conv2dGeometryOf(query);
  if (g.groups > 1 && g.group_in_c() < kThinGroup &&
      g.group_out_c() < kThinGroup) {
    return "";
  }
  return platform::Format(
      "needs groups of fewer than {} channels, got {} to {}", kThinGroup,
      g.group_in_c(), g.group_out_c());
}

template <math::Conv2dDirection kDirection>
framework::KernelWork DirectWork(const framework::KernelQuery& query) {
  return math::Conv2dDirectWork(Conv2dGeometryOf(query), kDirection,
                                platform::SizeOf(query.input_dtypes[0]));
}

}  // namespace

REGISTER_OP_KERNEL(conv2d,
                   PLAIN,
                   CPUPlace,
                   direct,
                   KernelTraits()
                       .Estimate(&DirectWork<math::Conv2dDirection::kForward>)
                       .When(&ThinGroups),
                   Conv2dDirectKernel<float>,
                   Conv2dDirectKernel<double>);
REGISTER_OP_KERNEL(conv2d_grad_input,
                   PLAIN,
                   CPUPlace,
                   direct,
                   KernelTraits()
                       .Estimate(&DirectWork<math::Conv2dDirection::kGradInput>)
                       .When(&ThinGroups),
                   Conv2dDirectGradInputKernel<float>,
                   Conv2dDirectGradInputKernel<double>);
REGISTER_OP_KERNEL(
    conv2d_grad_filter,
    PLAIN,
    CPUPlace,
    direct,
    KernelTraits()
        .Estimate(&DirectWork<math::Conv2dDirection::kGradFilter>)
        .When(&ThinGroups),
    Conv2dDirectGradFilterKernel<float>,
    Conv2dDirectGradFilterKernel<double>);

}  // namespace sluice::operators
