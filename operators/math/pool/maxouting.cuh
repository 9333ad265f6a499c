#pragma once

#include "sluice/operators/math/pool/maxouting.h"
#include "sluice/platform/cuda/launch.h"

// The functors of maxouting.h on CUDA. They enqueue on the context's stream.
namespace sluice {

// Returns the channel of its group that holds the maximum: the first NaN,
// otherwise the first of the largest. `group` is the group's first element.
template <typename T>
__device__ int64_t FindGroupMaximum(const T* group,
                                    int64_t groups,
                                    int64_t plane) {
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
class MaxOutFunctor<CUDADeviceContext, T> {
 public:
  void operator()(const CUDADeviceContext& context,
                  const Tensor& input,
                  Tensor* output,
                  int groups) {
    CheckMaxOutShapes(input.dims(), output->dims(), groups);
    const T* x = input.data<T>();
    T* out = output->data<T>();
    const int64_t channels = groups;
    const int64_t plane = input.dims()[2] * input.dims()[3];
    ForEach(context, output->numel(), [=] __device__(int64_t i) {
      const T* group = x + i / plane * plane * channels + i % plane;
      out[i] = group[FindGroupMaximum(group, channels, plane) * plane];
    });
  }
};

template <typename T>
class MaxOutGradFunctor<CUDADeviceContext, T> {
 public:
  void operator()(const CUDADeviceContext& context,
                  const Tensor& input,
                  const Tensor& output_grad,
                  Tensor* input_grad,
                  int groups) {
    CheckMaxOutShapes(input.dims(), output_grad.dims(), groups);
    const T* x = input.data<T>();
    const T* grad = output_grad.data<T>();
    T* x_grad = input_grad->data<T>();
    const int64_t channels = groups;
    const int64_t plane = input.dims()[2] * input.dims()[3];
    ForEach(context, output_grad.numel(), [=] __device__(int64_t i) {
      const int64_t first = i / plane * plane * channels + i % plane;
      const int64_t best = FindGroupMaximum(x + first, channels, plane);
      for (int64_t g = 0; g < channels; ++g) {
        x_grad[first + g * plane] = g == best ? grad[i] : T{0};
      }
    });
  }
};

}  // namespace sluice
