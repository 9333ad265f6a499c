#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/contraction/matmul_kernel.cuh"

namespace sluice::operators {

using framework::KernelTraits;

REGISTER_OP_KERNEL(
    matmul,
    CUBLAS,
    CUDAPlace,
    gemm,
    KernelTraits().Estimate(&MatmulCUDAWork<Matmul, MatmulOut, CublasGemm>),
    MatmulCUDAKernel<Matmul, MatmulOut, float, CublasGemm>,
    MatmulCUDAKernel<Matmul, MatmulOut, double, CublasGemm>);
REGISTER_OP_KERNEL(
    matmul_grad_x,
    CUBLAS,
    CUDAPlace,
    gemm,
    KernelTraits().Estimate(&MatmulCUDAWork<Matmul, MatmulXGrad, CublasGemm>),
    MatmulCUDAKernel<Matmul, MatmulXGrad, float, CublasGemm>,
    MatmulCUDAKernel<Matmul, MatmulXGrad, double, CublasGemm>);
REGISTER_OP_KERNEL(
    matmul_grad_y,
    CUBLAS,
    CUDAPlace,
    gemm,
    KernelTraits().Estimate(&MatmulCUDAWork<Matmul, MatmulYGrad, CublasGemm>),
    MatmulCUDAKernel<Matmul, MatmulYGrad, float, CublasGemm>,
    MatmulCUDAKernel<Matmul, MatmulYGrad, double, CublasGemm>);
REGISTER_OP_KERNEL(
    matmul,
    PLAIN,
    CUDAPlace,
    plain,
    KernelTraits().Estimate(&MatmulCUDAWork<Matmul, MatmulOut, TiledGemm>),
    MatmulCUDAKernel<Matmul, MatmulOut, float, TiledGemm>,
    MatmulCUDAKernel<Matmul, MatmulOut, double, TiledGemm>);
REGISTER_OP_KERNEL(
    matmul_grad_x,
    PLAIN,
    CUDAPlace,
    plain,
    KernelTraits().Estimate(&MatmulCUDAWork<Matmul, MatmulXGrad, TiledGemm>),
    MatmulCUDAKernel<Matmul, MatmulXGrad, float, TiledGemm>,
    MatmulCUDAKernel<Matmul, MatmulXGrad, double, TiledGemm>);
REGISTER_OP_KERNEL(
    matmul_grad_y,
    PLAIN,
    CUDAPlace,
    plain,
    KernelTraits().Estimate(&MatmulCUDAWork<Matmul, MatmulYGrad, TiledGemm>),
    MatmulCUDAKernel<Matmul, MatmulYGrad, float, TiledGemm>,
    MatmulCUDAKernel<Matmul, MatmulYGrad, double, TiledGemm>);

}  // namespace sluice::operators
