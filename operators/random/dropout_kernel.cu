#include "sluice/operators/random/device_random.cuh"
#include "sluice/operators/random/dropout_kernel.h"
#include "sluice/operators/random/random.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

// Keeps the same elements as the CPU kernel.
template <typename T>
class DropoutCUDAKernel final : public OpKernel {
 public:
  explicit DropoutCUDAKernel(const OpKernelConstruction& construction)
      : settings_(construction),
        seed_(static_cast<uint64_t>(construction.Attr<int64_t>("seed"))),
        op_(static_cast<uint32_t>(construction.op_index())) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& input = context.Input(0);
    const T* x = input.data<T>();
    T* out = context.AllocateOutput(0, input.dims()).template data<T>();
    auto* mask =
        context.AllocateOutput(1, input.dims()).template data<uint8_t>();
    const uint64_t threshold = DropoutThreshold(settings_.probability);
    const T scale = static_cast<T>(settings_.scale);
    ForEachRandomBlock(
        context.device_context<CUDADeviceContext>(),
        {seed_, op_, context.step()}, input.numel(),
        [=] __device__(const PhiloxCounter& words, int64_t first, int count) {
          for (int64_t i = first; i < first + count; ++i) {
            const bool kept = words.word[i - first] >= threshold;
            mask[i] = kept ? 1 : 0;
            out[i] = kept ? x[i] * scale : T{0};
          }
        });
  }

 private:
  DropoutSettings settings_;
  uint64_t seed_;
  uint32_t op_;
};

template <typename T>
class DropoutGradCUDAKernel final : public OpKernel {
 public:
  explicit DropoutGradCUDAKernel(const OpKernelConstruction& construction)
      : settings_(construction) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& kept = context.Input(0);
    const auto* mask = kept.data<uint8_t>();
    const T* grad = context.Input(1).data<T>();
    T* x_grad = context.AllocateOutput(0, kept.dims()).template data<T>();
    const T scale = static_cast<T>(settings_.scale);
    ForEach(context.device_context<CUDADeviceContext>(), kept.numel(),
            [=] __device__(int64_t i) {
              x_grad[i] = mask[i] != 0 ? grad[i] * scale : T{0};
            });
  }

 private:
  DropoutSettings settings_;
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(dropout, DropoutCUDAKernel<FloatTypes>);
REGISTER_OP_CUDA_KERNEL(dropout_grad, DropoutGradCUDAKernel<FloatTypes>);

}  // namespace sluice
