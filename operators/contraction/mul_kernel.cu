#include "sluice/operators/contraction/matmul_kernel.cuh"
#include "sluice/operators/registration.h"

namespace sluice {

REGISTER_OP_KERNEL(
    mul,
    CUBLAS,
    CUDAPlace,
    gemm,
    KernelTraits().Estimate(&MatmulCUDAWork<Mul, MatmulOut, CublasGemm>),
    MatmulCUDAKernel<Mul, MatmulOut, FloatTypes, CublasGemm>);
REGISTER_OP_KERNEL(
    mul_grad_x,
    CUBLAS,
    CUDAPlace,
    gemm,
    KernelTraits().Estimate(&MatmulCUDAWork<Mul, MatmulXGrad, CublasGemm>),
    MatmulCUDAKernel<Mul, MatmulXGrad, FloatTypes, CublasGemm>);
REGISTER_OP_KERNEL(
    mul_grad_y,
    CUBLAS,
    CUDAPlace,
    gemm,
    KernelTraits().Estimate(&MatmulCUDAWork<Mul, MatmulYGrad, CublasGemm>),
    MatmulCUDAKernel<Mul, MatmulYGrad, FloatTypes, CublasGemm>);
REGISTER_OP_CUDA_KERNEL(
    mul,
    EstimatedBy<&MatmulCUDAWork<Mul, MatmulOut, TiledGemm>>,
    MatmulCUDAKernel<Mul, MatmulOut, FloatTypes, TiledGemm>);
REGISTER_OP_CUDA_KERNEL(
    mul_grad_x,
    EstimatedBy<&MatmulCUDAWork<Mul, MatmulXGrad, TiledGemm>>,
    MatmulCUDAKernel<Mul, MatmulXGrad, FloatTypes, TiledGemm>);
REGISTER_OP_CUDA_KERNEL(
    mul_grad_y,
    EstimatedBy<&MatmulCUDAWork<Mul, MatmulYGrad, TiledGemm>>,
    MatmulCUDAKernel<Mul, MatmulYGrad, FloatTypes, TiledGemm>);

}  // namespace sluice
