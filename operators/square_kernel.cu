#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/unary_kernel.cuh"

namespace sluice::operators {
namespace {

struct Square {
  template <typename T>
  __device__ static T Of(T x) {
    return x * x;
  }
  template <typename T>
  __device__ static T Gradient(T x, T grad) {
    return grad * (x + x);
  }
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(square,
                        UnaryCUDAKernel<float, Square>,
                        UnaryCUDAKernel<double, Square>);
REGISTER_OP_CUDA_KERNEL(square_grad,
                        UnaryGradCUDAKernel<float, Square>,
                        UnaryGradCUDAKernel<double, Square>);

}  // namespace sluice::operators
