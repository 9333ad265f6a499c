#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/unary_kernel.cuh"

namespace sluice::operators {
namespace {

struct Log {
  template <typename T>
  __device__ static T Of(T x) {
    return log(x);
  }
  template <typename T>
  __device__ static T Gradient(T x, T grad) {
    return grad / x;
  }
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(log,
                        UnaryCUDAKernel<float, Log>,
                        UnaryCUDAKernel<double, Log>);
REGISTER_OP_CUDA_KERNEL(log_grad,
                        UnaryGradCUDAKernel<float, Log>,
                        UnaryGradCUDAKernel<double, Log>);

}  // namespace sluice::operators
