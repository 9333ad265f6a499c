// A kernel for a dtype that its op does not have.
#include "no_kernel.h"

namespace my_kernels {

REGISTER_OP_KERNEL(relu,
                   PLAIN,
                   CPUPlace,
                   test_foreign,
                   sluice::KernelTraits(),
                   NoKernel<int64_t>);

}  // namespace my_kernels
