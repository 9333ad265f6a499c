// A row that has one dtype two times.
#include "no_kernel.h"

namespace my_kernels {

REGISTER_OP_KERNEL(relu,
                   PLAIN,
                   CPUPlace,
                   test_twice,
                   sluice::KernelTraits(),
                   NoKernel<float>,
                   NoKernel<float>);

}  // namespace my_kernels
