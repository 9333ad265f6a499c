#include "sluice/operators/contraction/matmul_kernel.cuh"
#include "sluice/operators/registration.h"

namespace sluice::operators {

REGISTER_OP_KERNEL(
    matmul,
    CUBLAS,
    CUDAPlace,
    gemm,
    KernelTraits().Estimate(&MatmulCUDAWork<Matmul, MatmulOut, CublasGemm>),
    MatmulCUDAKernel<Matmul, MatmulOut, Floats, CublasGemm>);
REGISTER_OP_KERNEL(
    matmul_grad_x,
    CUBLAS,
    CUDAPlace,
    gemm,
    KernelTraits().Estimate(&MatmulCUDAWork<Matmul, MatmulXGrad, CublasGemm>),
    MatmulCUDAKernel<Matmul, MatmulXGrad, Floats, CublasGemm>);
REGISTER_OP_KERNEL(
    matmul_grad_y,
    CUBLAS,
    CUDAPlace,
    gemm,
    KernelTraits().Estimate(&MatmulCUDAWork<Matmul, MatmulYGrad, CublasGemm>),
    MatmulCUDAKernel<Matmul, MatmulYGrad, Floats, CublasGemm>);
REGISTER_OP_CUDA_KERNEL(
    matmul,
    EstimatedBy<&MatmulCUDAWork<Matmul, MatmulOut, TiledGemm>>,
    MatmulCUDAKernel<Matmul, MatmulOut, Floats, TiledGemm>);
REGISTER_OP_CUDA_KERNEL(
    matmul_grad_x,
    EstimatedBy<&MatmulCUDAWork<Matmul, MatmulXGrad, TiledGemm>>,
    MatmulCUDAKernel<Matmul, MatmulXGrad, Floats, TiledGemm>);
REGISTER_OP_CUDA_KERNEL(
    matmul_grad_y,
    EstimatedBy<&MatmulCUDAWork<Matmul, MatmulYGrad, TiledGemm>>,
    MatmulCUDAKernel<Matmul, MatmulYGrad, Floats, TiledGemm>);

}  // namespace sluice::operators
