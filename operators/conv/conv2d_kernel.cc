#include "sluice/operators/conv/conv2d_kernel.h"

#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/math/conv/channel_sum.h"
#include "sluice/operators/math/conv/conv2d_gemm.h"
#include "sluice/operators/math/conv/conv2d_work.h"

namespace sluice::operators {
namespace {

using framework::KernelPreparation;
using framework::KernelTraits;
using framework::OpKernel;
using framework::OpKernelConstruction;
using framework::OpKernelContext;
using framework::Tensor;

template <typename T>
class Conv2dKernel final : public OpKernel {
 public:
  explicit Conv2dKernel(const OpKernelConstruction& /*construction*/) {}

  void Prepare(KernelPreparation& preparation) override {
    plan_ = math::PlanConv2dGemm(Conv2dGeometryOf(preparation.query),
                                 math::Conv2dDirection::kForward, sizeof(T),
                                 preparation.num_threads);
    preparation.scratch_bytes = plan_.scratch_bytes(sizeof(T));
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& input = context.Input("Input");
    const Tensor& filter = context.Input("Filter");
    const T* bias =
        context.HasInput("Bias") ? context.Input("Bias").data<T>() : nullptr;
    Tensor& output =
        context.AllocateOutput("Output", Conv2dOutputDims(plan_.g));
    if (output.numel() == 0) return;
    math::Conv2dGemm(plan_, input.data<T>(), filter.data<T>(), bias,
                     output.data<T>(), context.scratch());
  }

 private:
  math::Conv2dGemmPlan plan_;
};

template <typename T>
class Conv2dGradInputKernel final : public OpKernel {
 public:
  explicit Conv2dGradInputKernel(const OpKernelConstruction& /*construction*/) {
  }

  void Prepare(KernelPreparation& preparation) override {
    plan_ = math::PlanConv2dGemm(Conv2dGeometryOf(preparation.query),
                                 math::Conv2dDirection::kGradInput, sizeof(T),
                                 preparation.num_threads);
    preparation.scratch_bytes = plan_.scratch_bytes(sizeof(T));
    dims_ = preparation.query.inputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& filter = context.Input("Filter");
    const Tensor& grad = context.Input("Output@GRAD");
    Tensor& out = context.AllocateOutput("Input@GRAD", dims_);
    if (out.numel() == 0) return;
    const T* const no_bias = nullptr;
    math::Conv2dGemmGradInput(plan_, filter.data<T>(), grad.data<T>(), no_bias,
                              out.data<T>(), context.scratch());
  }

 private:
  math::Conv2dGemmPlan plan_;
  framework::DDim dims_;
};

template <typename T>
class Conv2dGradFilterKernel final : public OpKernel {
 public:
  explicit Conv2dGradFilterKernel(
      const OpKernelConstruction& /*construction*/) {}

  void Prepare(KernelPreparation& preparation) override {
    plan_ = math::PlanConv2dGemm(Conv2dGeometryOf(preparation.query),
                                 math::Conv2dDirection::kGradFilter, sizeof(T),
                                 preparation.num_threads);
    preparation.scratch_bytes = plan_.scratch_bytes(sizeof(T));
    dims_ = preparation.query.inputs[1];
  }

  void Compute(OpKernelContext& context) const override {
    const math::Conv2dGeometry& g = plan_.g;
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
    math::Conv2dGemmGradFilter(plan_, input.data<T>(), grad.data<T>(),
                               out.data<T>(), context.scratch());
  }

 private:
  math::Conv2dGemmPlan plan_;
  framework::DDim dims_;
};

template <math::Conv2dDirection kDirection>
framework::KernelWork GemmWork(const framework::KernelQuery& query) {
  return math::Conv2dGemmWork(Conv2dGeometryOf(query), kDirection,
                              platform::SizeOf(query.input_dtypes[0]));
}

}  // namespace

REGISTER_OP_KERNEL(
    conv2d,
    PLAIN,
    CPUPlace,
    plain,
    KernelTraits().Estimate(&GemmWork<math::Conv2dDirection::kForward>),
    Conv2dKernel<float>,
    Conv2dKernel<double>);
REGISTER_OP_KERNEL(
    conv2d_grad_input,
    PLAIN,
    CPUPlace,
    plain,
    KernelTraits().Estimate(&GemmWork<math::Conv2dDirection::kGradInput>),
    Conv2dGradInputKernel<float>,
    Conv2dGradInputKernel<double>);
REGISTER_OP_KERNEL(
    conv2d_grad_filter,
    PLAIN,
    CPUPlace,
    plain,
    KernelTraits().Estimate(&GemmWork<math::Conv2dDirection::kGradFilter>),
    Conv2dGradFilterKernel<float>,
    Conv2dGradFilterKernel<double>);

}  // namespace sluice::operators
