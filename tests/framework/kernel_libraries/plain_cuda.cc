// A kernel with the name of that of Sluice's CUDA module.
#include "no_kernel.h"

namespace my_kernels {

REGISTER_OP_KERNEL(abs,
                   PLAIN,
                   CPUPlace,
                   test_plain_cuda,
                   sluice::KernelTraits(),
                   NoKernel<float>);
REGISTER_OP_KERNEL(
    relu, PLAIN, CUDAPlace, plain, sluice::KernelTraits(), NoKernel<float>);

}  // namespace my_kernels
