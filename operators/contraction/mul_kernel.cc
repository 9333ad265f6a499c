#include "sluice/operators/contraction/matmul_kernel.h"
#include "sluice/operators/conversion/widened_kernel.h"
#include "sluice/operators/registration.h"

namespace sluice {

REGISTER_OP_CPU_KERNEL(mul,
                       EstimatedBy<&MatmulWork<Mul, MatmulOut>>,
                       MatmulKernel<Mul, MatmulOut, FloatsAndWidenedHalves>);
REGISTER_OP_CPU_KERNEL(mul_grad_x,
                       EstimatedBy<&MatmulWork<Mul, MatmulXGrad>>,
                       MatmulKernel<Mul, MatmulXGrad, FloatsAndWidenedHalves>);
REGISTER_OP_CPU_KERNEL(mul_grad_y,
                       EstimatedBy<&MatmulWork<Mul, MatmulYGrad>>,
                       MatmulKernel<Mul, MatmulYGrad, FloatsAndWidenedHalves>);

}  // namespace sluice
