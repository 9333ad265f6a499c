#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/contraction/matmul_kernel.cuh"

namespace sluice::operators {

using framework::KernelTraits;

REGISTER_OP_KERNEL(
    mul,
    CUBLAS,
    CUDAPlace,
    gemm,
    KernelTraits().Estimate(&MatmulCUDAWork<Mul, MatmulOut, CublasGemm>),
    MatmulCUDAKernel<Mul, MatmulOut, float, CublasGemm>,
    MatmulCUDAKernel<Mul, MatmulOut, double, CublasGemm>);
REGISTER_OP_KERNEL(
    mul_grad_x,
    CUBLAS,
    CUDAPlace,
    gemm,
    KernelTraits().Estimate(&MatmulCUDAWork<Mul, MatmulXGrad, CublasGemm>),
    MatmulCUDAKernel<Mul, MatmulXGrad, float, CublasGemm>,
    MatmulCUDAKernel<Mul, MatmulXGrad, double, CublasGemm>);
REGISTER_OP_KERNEL(
    mul_grad_y,
    CUBLAS,
    CUDAPlace,
    gemm,
    KernelTraits().Estimate(&MatmulCUDAWork<Mul, MatmulYGrad, CublasGemm>),
    MatmulCUDAKernel<Mul, MatmulYGrad, float, CublasGemm>,
    MatmulCUDAKernel<Mul, MatmulYGrad, double, CublasGemm>);
REGISTER_OP_KERNEL(
    mul,
    PLAIN,
    CUDAPlace,
    plain,
    KernelTraits().Estimate(&MatmulCUDAWork<Mul, MatmulOut, TiledGemm>),
    MatmulCUDAKernel<Mul, MatmulOut, float, TiledGemm>,
    MatmulCUDAKernel<Mul, MatmulOut, double, TiledGemm>);
REGISTER_OP_KERNEL(
    mul_grad_x,
    PLAIN,
    CUDAPlace,
    plain,
    KernelTraits().Estimate(&MatmulCUDAWork<Mul, MatmulXGrad, TiledGemm>),
    MatmulCUDAKernel<Mul, MatmulXGrad, float, TiledGemm>,
    MatmulCUDAKernel<Mul, MatmulXGrad, double, TiledGemm>);
REGISTER_OP_KERNEL(
    mul_grad_y,
    PLAIN,
    CUDAPlace,
    plain,
    KernelTraits().Estimate(&MatmulCUDAWork<Mul, MatmulYGrad, TiledGemm>),
    MatmulCUDAKernel<Mul, MatmulYGrad, float, TiledGemm>,
    MatmulCUDAKernel<Mul, MatmulYGrad, double, TiledGemm>);

}  // namespace sluice::operators
