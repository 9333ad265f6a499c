#include <type_traits>

#include "sluice/operators/conversion/widened_kernel.cuh"
#include "sluice/operators/math/device_softmax.cuh"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

template <typename T>
SoftmaxRow<T> RowOf(const DDim& x, int64_t axis) {
  const auto at = static_cast<int>(axis < 0 ? axis + x.rank() : axis);
  return {x[at], x.Product(at + 1, x.rank())};
}

// Whether an op is the logarithm of softmax.
using Plain = std::false_type;
using Logarithm = std::true_type;

template <typename T, typename Log>
class SoftmaxCUDAKernel final : public OpKernel {
 public:
  explicit SoftmaxCUDAKernel(const OpKernelConstruction& construction)
      : axis_(construction.Attr<int64_t>("axis")) {}

  void Prepare(KernelPreparation& preparation) override {
    row_ = RowOf<T>(preparation.query.inputs[0], axis_);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& input = context.Input(0);
    const T* x = input.data<T>();
    T* out = context.AllocateOutput(0, input.dims()).template data<T>();
    if (input.numel() == 0) return;
    const SoftmaxRow<T> row = row_;
    ForEachRow(context.device_context<CUDADeviceContext>(),
               input.numel() / row.size, row.size,
               [=] __device__(auto team, int64_t number) {
                 const T* from = x + row.Begin(number);
                 T* to = out + row.Begin(number);
                 if constexpr (Log::value) {
                   row.LogForward(team, from, to);
                 } else {
                   row.Forward(team, from, to);
                 }
               });
  }

 private:
  int64_t axis_;
  SoftmaxRow<T> row_{};
};

template <typename T, typename Log>
class SoftmaxGradCUDAKernel final : public OpKernel {
 public:
  explicit SoftmaxGradCUDAKernel(const OpKernelConstruction& construction)
      : axis_(construction.Attr<int64_t>("axis")) {}

  void Prepare(KernelPreparation& preparation) override {
    row_ = RowOf<T>(preparation.query.inputs[0], axis_);
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& output = context.Input(0);
    const T* out = output.data<T>();
    const T* grad = context.Input(1).data<T>();
    T* x_grad = context.AllocateOutput(0, output.dims()).template data<T>();
    if (output.numel() == 0) return;
    const SoftmaxRow<T> row = row_;
    ForEachRow(context.device_context<CUDADeviceContext>(),
               output.numel() / row.size, row.size,
               [=] __device__(auto team, int64_t number) {
                 const int64_t at = row.Begin(number);
                 const T *y = out + at, *y_grad = grad + at;
                 T* to = x_grad + at;
                 if constexpr (Log::value) {
                   row.LogBackward(team, y, y_grad, to);
                 } else {
                   row.Backward(team, y, y_grad, to);
                 }
               });
  }

 private:
  int64_t axis_;
  SoftmaxRow<T> row_{};
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(softmax,
                        SoftmaxCUDAKernel<FloatsAndDeviceHalves, Plain>);
REGISTER_OP_CUDA_KERNEL(softmax_grad,
                        SoftmaxGradCUDAKernel<FloatsAndDeviceHalves, Plain>);
REGISTER_OP_CUDA_KERNEL(log_softmax,
                        SoftmaxCUDAKernel<FloatsAndDeviceHalves, Logarithm>);
REGISTER_OP_CUDA_KERNEL(
    log_softmax_grad, SoftmaxGradCUDAKernel<FloatsAndDeviceHalves, Logarithm>);

}  // namespace sluice
