#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/elementwise_kernel.cuh"

namespace sluice::operators {
namespace {

struct Divide {
  static constexpr bool kReadsX = false, kReadsY = true, kReadsOut = true;

  template <typename T>
  __device__ static T Of(T x, T y) {
    return x / y;
  }
  template <typename T>
  __device__ static T XGradient(T grad, T /*x*/, T y, T /*out*/) {
    return grad / y;
  }
  template <typename T>
  __device__ static T YGradient(T grad, T /*x*/, T y, T out) {
    return -grad * out / y;
  }
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(elementwise_div,
                        ElementwiseCUDAKernel<float, Divide>,
                        ElementwiseCUDAKernel<double, Divide>);
REGISTER_OP_CUDA_KERNEL(elementwise_div_grad,
                        ElementwiseGradCUDAKernel<float, Divide>,
                        ElementwiseGradCUDAKernel<double, Divide>);

}  // namespace sluice::operators
