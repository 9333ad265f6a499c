#include "sluice/operators/contraction/matmul_kernel.cuh"
#include "sluice/operators/registration.h"

namespace sluice {

REGISTER_OP_KERNEL(
    matmul,
    CUBLAS,
    CUDAPlace,
    gemm,
    KernelTraits().Estimate(&MatmulCUDAWork<Matmul, MatmulOut, CublasGemm>),
    MatmulCUDAKernel<Matmul, MatmulOut, FloatTypes, CublasGemm>);
REGISTER_OP_KERNEL(
    matmul_grad_x,
    CUBLAS,
    CUDAPlace,
    gemm,
    KernelTraits().Estimate(&MatmulCUDAWork<Matmul, MatmulXGrad, CublasGemm>),
    MatmulCUDAKernel<Matmul, MatmulXGrad, FloatTypes, CublasGemm>);
REGISTER_OP_KERNEL(
    matmul_grad_y,
    CUBLAS,
    CUDAPlace,
    gemm,
    KernelTraits().Estimate(&MatmulCUDAWork<Matmul, MatmulYGrad, CublasGemm>),
    MatmulCUDAKernel<Matmul, MatmulYGrad, FloatTypes, CublasGemm>);
REGISTER_OP_CUDA_KERNEL(
    matmul,
    EstimatedBy<&MatmulCUDAWork<Matmul, MatmulOut, TiledGemm>>,
    MatmulCUDAKernel<Matmul, MatmulOut, FloatTypes, TiledGemm>);
REGISTER_OP_CUDA_KERNEL(
    matmul_grad_x,
    EstimatedBy<&MatmulCUDAWork<Matmul, MatmulXGrad, TiledGemm>>,
    MatmulCUDAKernel<Matmul, MatmulXGrad, FloatTypes, TiledGemm>);
REGISTER_OP_CUDA_KERNEL(
    matmul_grad_y,
    EstimatedBy<&MatmulCUDAWork<Matmul, MatmulYGrad, TiledGemm>>,
    MatmulCUDAKernel<Matmul, MatmulYGrad, FloatTypes, TiledGemm>);

}  // namespace sluice
