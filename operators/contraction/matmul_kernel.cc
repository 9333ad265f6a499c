#include "sluice/operators/contraction/matmul_kernel.h"

#include "sluice/operators/conversion/widened_kernel.h"
#include "sluice/operators/registration.h"

namespace sluice {

REGISTER_OP_CPU_KERNEL(matmul,
                       EstimatedBy<&MatmulWork<Matmul, MatmulOut>>,
                       MatmulKernel<Matmul, MatmulOut, FloatsAndWidenedHalves>);
REGISTER_OP_CPU_KERNEL(
    matmul_grad_x,
    EstimatedBy<&MatmulWork<Matmul, MatmulXGrad>>,
    MatmulKernel<Matmul, MatmulXGrad, FloatsAndWidenedHalves>);
REGISTER_OP_CPU_KERNEL(
    matmul_grad_y,
    EstimatedBy<&MatmulWork<Matmul, MatmulYGrad>>,
    MatmulKernel<Matmul, MatmulYGrad, FloatsAndWidenedHalves>);

}  // namespace sluice
