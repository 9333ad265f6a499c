#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/unary_kernel.cuh"

namespace sluice::operators {
namespace {

struct Sqrt {
  template <typename T>
  __device__ static T Of(T x) {
    return sqrt(x);
  }
  template <typename T>
  __device__ static T Gradient(T out, T grad) {
    return grad * static_cast<T>(0.5) / out;
  }
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(sqrt,
                        UnaryCUDAKernel<float, Sqrt>,
                        UnaryCUDAKernel<double, Sqrt>);
REGISTER_OP_CUDA_KERNEL(sqrt_grad,
                        UnaryGradCUDAKernel<float, Sqrt>,
                        UnaryGradCUDAKernel<double, Sqrt>);

}  // namespace sluice::operators
