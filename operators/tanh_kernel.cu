#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/unary_kernel.cuh"

namespace sluice::operators {
namespace {

struct Tanh {
  template <typename T>
  __device__ static T Of(T x) {
    return tanh(x);
  }
  template <typename T>
  __device__ static T Gradient(T out, T grad) {
    // Not 1 - out * out, which loses digits where out is nearly 1.
    return grad * ((T{1} - out) * (T{1} + out));
  }
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(tanh,
                        UnaryCUDAKernel<float, Tanh>,
                        UnaryCUDAKernel<double, Tanh>);
REGISTER_OP_CUDA_KERNEL(tanh_grad,
                        UnaryGradCUDAKernel<float, Tanh>,
                        UnaryGradCUDAKernel<double, Tanh>);

}  // namespace sluice::operators
