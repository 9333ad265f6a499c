#pragma once

#include "sluice/operators/conv/channel_sum.h"
#include "sluice/operators/conv/conv2d_gemm.h"
#include "sluice/operators/conv/conv2d_kernel.h"
#include "sluice/operators/registration.h"

namespace sluice {

// Kernels of conv2d, conv3d, their gradients and transposes on the CPU. A
// Method has
//   Prepare(preparation, direction, bytes of an element), geometry(), and
//   those of Forward, GradInput and GradFilter for which it is registered.
template <typename Method, typename T>
class ConvKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    method_.Prepare(preparation, Conv2dDirection::kForward, sizeof(T));
    dims_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& input = context.Input("Input");
    const Tensor& filter = context.Input("Filter");
    const T* bias =
        context.HasInput("Bias") ? context.Input("Bias").data<T>() : nullptr;
    Tensor& output = context.AllocateOutput("Output", dims_);
    if (output.numel() == 0) return;
    method_.Forward(input.data<T>(), filter.data<T>(), bias, output.data<T>(),
                    context.scratch());
  }

 private:
  Method method_;
  DDim dims_;
};

// The gradient by the input, or a transposed convolution, which computes the
// same and adds a bias.
template <typename Method, typename T>
class ConvGradInputKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    transposed_ = IsTransposed(preparation.query);
    dims_ = preparation.query.outputs[0];
    if (dims_.numel() == 0) return;
    method_.Prepare(preparation, Conv2dDirection::kGradInput, sizeof(T));
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& filter = context.Input("Filter");
    const Tensor& grad = context.Input(transposed_ ? "Input" : "Output@GRAD");
    const T* const bias = transposed_ && context.HasInput("Bias")
                              ? context.Input("Bias").data<T>()
                              : nullptr;
    Tensor& out = context.AllocateOutput(0, dims_);
    if (out.numel() == 0) return;
    method_.GradInput(filter.data<T>(), grad.data<T>(), bias, out.data<T>(),
                      context.scratch());
  }

 private:
  Method method_;
  bool transposed_ = false;
  DDim dims_;
};

template <typename Method, typename T>
class ConvGradFilterKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    method_.Prepare(preparation, Conv2dDirection::kGradFilter, sizeof(T));
    dims_ = preparation.query.inputs[1];
  }

  void Compute(OpKernelContext& context) const override {
    const auto& g = method_.geometry();
    const Tensor& input = context.Input("Input");
    const Tensor& grad = context.Input("Output@GRAD");
    if (context.HasOutput("Bias@GRAD")) {
      Tensor& out = context.AllocateOutput("Bias@GRAD", {g.out_c});
      ChannelSum(grad.data<T>(), g.n, g.out_c, g.out_pixels(), g.nhwc,
                 out.data<T>());
    }
    if (!context.HasOutput("Filter@GRAD")) return;
    Tensor& out = context.AllocateOutput("Filter@GRAD", dims_);
    if (out.numel() == 0) return;
    method_.GradFilter(input.data<T>(), grad.data<T>(), out.data<T>(),
                       context.scratch());
  }

 private:
  Method method_;
  DDim dims_;
};

}  // namespace sluice
