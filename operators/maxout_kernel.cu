#include "sluice/framework/op_registry.h"
#include "sluice/platform/cuda/launch.h"

namespace sluice::operators {
namespace {

using framework::DDim;
using framework::KernelPreparation;
using framework::OpKernel;
using framework::OpKernelConstruction;
using framework::OpKernelContext;
using framework::Tensor;
using platform::CUDADeviceContext;

// The channel of its group that holds the maximum: the first NaN, else the
// first of the largest. `group` is the group's first element.
template <typename T>
__device__ int64_t FindMaximum(const T* group, int64_t groups, int64_t plane) {
  int64_t best = 0;
  T most = group[0];
  for (int64_t g = 1; g < groups; ++g) {
    const T value = group[g * plane];
    if (value > most || (value != value && most == most)) {
      best = g;
      most = value;
    }
  }
  return best;
}

template <typename T>
class MaxOutCUDAKernel final : public OpKernel {
 public:
  explicit MaxOutCUDAKernel(const OpKernelConstruction& construction)
      : groups_(construction.Attr<int64_t>("groups")) {}

  void Prepare(KernelPreparation& preparation) override {
    out_dims_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    const T* x = context.Input(0).data<T>();
    Tensor& output = context.AllocateOutput(0, out_dims_);
    T* out = output.data<T>();
    const int64_t groups = groups_;
    const int64_t plane = out_dims_[2] * out_dims_[3];
    platform::ForEach(
        context.device_context<CUDADeviceContext>(), output.numel(),
        [=] __device__(int64_t i) {
          const T* group = x + i / plane * plane * groups + i % plane;
          out[i] = group[FindMaximum(group, groups, plane) * plane];
        });
  }

 private:
  int64_t groups_;
  DDim out_dims_;
};

template <typename T>
class MaxOutGradCUDAKernel final : public OpKernel {
 public:
  explicit MaxOutGradCUDAKernel(const OpKernelConstruction& construction)
      : groups_(construction.Attr<int64_t>("groups")) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& input = context.Input(0);
    const Tensor& out_grad = context.Input(1);
    const T* x = input.data<T>();
    const T* grad = out_grad.data<T>();
    T* x_grad = context.AllocateOutput(0, input.dims()).template data<T>();
    const int64_t groups = groups_;
    const int64_t plane = input.dims()[2] * input.dims()[3];
    platform::ForEach(
        context.device_context<CUDADeviceContext>(), out_grad.numel(),
        [=] __device__(int64_t i) {
          const int64_t first = i / plane * plane * groups + i % plane;
          const int64_t best = FindMaximum(x + first, groups, plane);
          for (int64_t g = 0; g < groups; ++g) {
            x_grad[first + g * plane] = g == best ? grad[i] : T{0};
          }
        });
  }

 private:
  int64_t groups_;
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(maxout,
                        MaxOutCUDAKernel<float>,
                        MaxOutCUDAKernel<double>);
REGISTER_OP_CUDA_KERNEL(maxout_grad,
                        MaxOutGradCUDAKernel<float>,
                        MaxOutGradCUDAKernel<double>);

}  // namespace sluice::operators
