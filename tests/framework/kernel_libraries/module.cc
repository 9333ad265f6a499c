// A kernel with the library word of a module of Sluice's.
#include "no_kernel.h"

namespace my_kernels {

REGISTER_OP_KERNEL(matmul,
                   EIGEN,
                   CPUPlace,
                   test_module,
                   sluice::KernelTraits(),
                   NoKernel<float>);

}  // namespace my_kernels
