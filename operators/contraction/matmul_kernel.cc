#include "sluice/operators/contraction/matmul_kernel.h"

#include "sluice/framework/op/op_registry.h"

namespace sluice::operators {

using framework::KernelTraits;

REGISTER_OP_KERNEL(matmul,
                   PLAIN,
                   CPUPlace,
                   plain,
                   KernelTraits().Estimate(&MatmulWork<Matmul, MatmulOut>),
                   MatmulKernel<Matmul, MatmulOut, float>,
                   MatmulKernel<Matmul, MatmulOut, double>,
                   HalfMatmulKernel<Matmul, MatmulOut, platform::float16>,
                   HalfMatmulKernel<Matmul, MatmulOut, platform::bfloat16>);
REGISTER_OP_KERNEL(matmul_grad_x,
                   PLAIN,
                   CPUPlace,
                   plain,
                   KernelTraits().Estimate(&MatmulWork<Matmul, MatmulXGrad>),
                   MatmulKernel<Matmul, MatmulXGrad, float>,
                   MatmulKernel<Matmul, MatmulXGrad, double>);
REGISTER_OP_KERNEL(matmul_grad_y,
                   PLAIN,
                   CPUPlace,
                   plain,
                   KernelTraits().Estimate(&MatmulWork<Matmul, MatmulYGrad>),
                   MatmulKernel<Matmul, MatmulYGrad, float>,
                   MatmulKernel<Matmul, MatmulYGrad, double>);

}  // namespace sluice::operators
