#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/contraction/matmul_kernel.cuh"

namespace sluice::operators {

REGISTER_OP_CUDA_KERNEL(matmul,
                        MatmulCUDAKernel<Matmul, MatmulOut, float>,
                        MatmulCUDAKernel<Matmul, MatmulOut, double>);
REGISTER_OP_CUDA_KERNEL(matmul_grad_x,
                        MatmulCUDAKernel<Matmul, MatmulXGrad, float>,
                        MatmulCUDAKernel<Matmul, MatmulXGrad, double>);
REGISTER_OP_CUDA_KERNEL(matmul_grad_y,
                        MatmulCUDAKernel<Matmul, MatmulYGrad, float>,
                        MatmulCUDAKernel<Matmul, MatmulYGrad, double>);

}  // namespace sluice::operators
