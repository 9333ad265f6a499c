#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/contraction/matmul_kernel.h"

namespace sluice::operators {

using framework::KernelTraits;

REGISTER_OP_KERNEL(mul,
                   PLAIN,
                   CPUPlace,
                   plain,
                   KernelTraits().Estimate(&MatmulWork<Mul, MatmulOut>),
                   MatmulKernel<Mul, MatmulOut, float>,
                   MatmulKernel<Mul, MatmulOut, double>);
REGISTER_OP_KERNEL(mul_grad_x,
                   PLAIN,
                   CPUPlace,
                   plain,
                   KernelTraits().Estimate(&MatmulWork<Mul, MatmulXGrad>),
                   MatmulKernel<Mul, MatmulXGrad, float>,
                   MatmulKernel<Mul, MatmulXGrad, double>);
REGISTER_OP_KERNEL(mul_grad_y,
                   PLAIN,
                   CPUPlace,
                   plain,
                   KernelTraits().Estimate(&MatmulWork<Mul, MatmulYGrad>),
                   MatmulKernel<Mul, MatmulYGrad, float>,
                   MatmulKernel<Mul, MatmulYGrad, double>);

}  // namespace sluice::operators
