#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/elementwise_kernel.cuh"

namespace sluice::operators {
namespace {

struct Multiply {
  static constexpr bool kReadsX = true, kReadsY = true, kReadsOut = false;

  template <typename T>
  __device__ static T Of(T x, T y) {
    return x * y;
  }
  template <typename T>
  __device__ static T XGradient(T grad, T /*x*/, T y, T /*out*/) {
    return grad * y;
  }
  template <typename T>
  __device__ static T YGradient(T grad, T x, T /*y*/, T /*out*/) {
    return grad * x;
  }
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(elementwise_mul,
                        ElementwiseCUDAKernel<float, Multiply>,
                        ElementwiseCUDAKernel<double, Multiply>);
REGISTER_OP_CUDA_KERNEL(elementwise_mul_grad,
                        ElementwiseGradCUDAKernel<float, Multiply>,
                        ElementwiseGradCUDAKernel<double, Multiply>);

}  // namespace sluice::operators
