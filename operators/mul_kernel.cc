#include "sluice/framework/op_registry.h"
#include "sluice/operators/matmul_kernel.h"

namespace sluice::operators {

REGISTER_OP_CPU_KERNEL(mul,
                       MatmulKernel<Mul, MatmulOut, float>,
                       MatmulKernel<Mul, MatmulOut, double>);
REGISTER_OP_CPU_KERNEL(mul_grad_x,
                       MatmulKernel<Mul, MatmulXGrad, float>,
                       MatmulKernel<Mul, MatmulXGrad, double>);
REGISTER_OP_CPU_KERNEL(mul_grad_y,
                       MatmulKernel<Mul, MatmulYGrad, float>,
                       MatmulKernel<Mul, MatmulYGrad, double>);

}  // namespace sluice::operators
