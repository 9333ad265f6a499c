// A kernel for an unknown op; the one before it is correct.
#include "no_kernel.h"

namespace my_kernels {

REGISTER_OP_KERNEL(abs,
                   PLAIN,
                   CPUPlace,
                   test_misspelt,
                   sluice::KernelTraits(),
                   NoKernel<float>);
REGISTER_OP_KERNEL(
    relux, PLAIN, CPUPlace, test_mine, sluice::KernelTraits(), NoKernel<float>);

}  // namespace my_kernels
