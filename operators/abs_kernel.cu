#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/unary_kernel.cuh"

namespace sluice::operators {
namespace {

struct Abs {
  template <typename T>
  __device__ static T Of(T x) {
    return fabs(x);
  }
  template <typename T>
  __device__ static T Gradient(T x, T grad) {
    return x == 0 ? T{0} : x < 0 ? -grad : grad;
  }
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(abs,
                        UnaryCUDAKernel<float, Abs>,
                        UnaryCUDAKernel<double, Abs>);
REGISTER_OP_CUDA_KERNEL(abs_grad,
                        UnaryGradCUDAKernel<float, Abs>,
                        UnaryGradCUDAKernel<double, Abs>);

}  // namespace sluice::operators
