#include "sluice/operators/matmul_kernel.h"

#include "sluice/framework/op_registry.h"

namespace sluice::operators {

REGISTER_OP_CPU_KERNEL(matmul,
                       MatmulKernel<Matmul, MatmulOut, float>,
                       MatmulKernel<Matmul, MatmulOut, double>);
REGISTER_OP_CPU_KERNEL(matmul_grad_x,
                       MatmulKernel<Matmul, MatmulXGrad, float>,
                       MatmulKernel<Matmul, MatmulXGrad, double>);
REGISTER_OP_CPU_KERNEL(matmul_grad_y,
                       MatmulKernel<Matmul, MatmulYGrad, float>,
                       MatmulKernel<Matmul, MatmulYGrad, double>);

}  // namespace sluice::operators
