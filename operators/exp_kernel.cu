#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/unary_kernel.cuh"

namespace sluice::operators {
namespace {

struct Exp {
  template <typename T>
  __device__ static T Of(T x) {
    return exp(x);
  }
  template <typename T>
  __device__ static T Gradient(T out, T grad) {
    return grad * out;
  }
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(exp,
                        UnaryCUDAKernel<float, Exp>,
                        UnaryCUDAKernel<double, Exp>);
REGISTER_OP_CUDA_KERNEL(exp_grad,
                        UnaryGradCUDAKernel<float, Exp>,
                        UnaryGradCUDAKernel<double, Exp>);

}  // namespace sluice::operators
