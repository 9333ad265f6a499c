#include "sluice/operators/contraction/matmul_kernel.cuh"
#include "sluice/operators/registration.h"

namespace sluice::operators {

REGISTER_OP_KERNEL(
    mul,
    CUBLAS,
    CUDAPlace,
    gemm,
    KernelTraits().Estimate(&MatmulCUDAWork<Mul, MatmulOut, CublasGemm>),
    MatmulCUDAKernel<Mul, MatmulOut, Floats, CublasGemm>);
REGISTER_OP_KERNEL(
    mul_grad_x,
    CUBLAS,
    CUDAPlace,
    gemm,
    KernelTraits().Estimate(&MatmulCUDAWork<Mul, MatmulXGrad, CublasGemm>),
    MatmulCUDAKernel<Mul, MatmulXGrad, Floats, CublasGemm>);
REGISTER_OP_KERNEL(
    mul_grad_y,
    CUBLAS,
    CUDAPlace,
    gemm,
    KernelTraits().Estimate(&MatmulCUDAWork<Mul, MatmulYGrad, CublasGemm>),
    MatmulCUDAKernel<Mul, MatmulYGrad, Floats, CublasGemm>);
REGISTER_OP_CUDA_KERNEL(mul,
                        EstimatedBy<&MatmulCUDAWork<Mul, MatmulOut, TiledGemm>>,
                        MatmulCUDAKernel<Mul, MatmulOut, Floats, TiledGemm>);
REGISTER_OP_CUDA_KERNEL(
    mul_grad_x,
    EstimatedBy<&MatmulCUDAWork<Mul, MatmulXGrad, TiledGemm>>,
    MatmulCUDAKernel<Mul, MatmulXGrad, Floats, TiledGemm>);
REGISTER_OP_CUDA_KERNEL(
    mul_grad_y,
    EstimatedBy<&MatmulCUDAWork<Mul, MatmulYGrad, TiledGemm>>,
    MatmulCUDAKernel<Mul, MatmulYGrad, Floats, TiledGemm>);

}  // namespace sluice::operators
