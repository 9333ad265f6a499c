#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/unary_kernel.cuh"

namespace sluice::operators {
namespace {

struct Sigmoid {
  template <typename T>
  __device__ static T Of(T x) {
    const T small = exp(-fabs(x));  // never overflows
    return (x < 0 ? small : T{1}) / (T{1} + small);
  }
  template <typename T>
  __device__ static T Gradient(T out, T grad) {
    return grad * out * (T{1} - out);
  }
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(sigmoid,
                        UnaryCUDAKernel<float, Sigmoid>,
                        UnaryCUDAKernel<double, Sigmoid>);
REGISTER_OP_CUDA_KERNEL(sigmoid_grad,
                        UnaryGradCUDAKernel<float, Sigmoid>,
                        UnaryGradCUDAKernel<double, Sigmoid>);

}  // namespace sluice::operators
