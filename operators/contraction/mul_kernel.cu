#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/contraction/matmul_kernel.cuh"

namespace sluice::operators {

REGISTER_OP_CUDA_KERNEL(mul,
                        MatmulCUDAKernel<Mul, MatmulOut, float>,
                        MatmulCUDAKernel<Mul, MatmulOut, double>);
REGISTER_OP_CUDA_KERNEL(mul_grad_x,
                        MatmulCUDAKernel<Mul, MatmulXGrad, float>,
                        MatmulCUDAKernel<Mul, MatmulXGrad, double>);
REGISTER_OP_CUDA_KERNEL(mul_grad_y,
                        MatmulCUDAKernel<Mul, MatmulYGrad, float>,
                        MatmulCUDAKernel<Mul, MatmulYGrad, double>);

}  // namespace sluice::operators
