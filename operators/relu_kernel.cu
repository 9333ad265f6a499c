#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/unary_kernel.cuh"

namespace sluice::operators {
namespace {

struct Relu {
  template <typename T>
  __device__ static T Of(T x) {
    return x <= 0 ? T{0} : x;  // NaN stays NaN
  }
  template <typename T>
  __device__ static T Gradient(T out, T grad) {
    return out <= 0 ? T{0} : grad;
  }
};

}  // namespace

REGISTER_OP_CUDA_KERNEL(relu,
                        UnaryCUDAKernel<float, Relu>,
                        UnaryCUDAKernel<double, Relu>);
REGISTER_OP_CUDA_KERNEL(relu_grad,
                        UnaryGradCUDAKernel<float, Relu>,
                        UnaryGradCUDAKernel<double, Relu>);

}  // namespace sluice::operators
