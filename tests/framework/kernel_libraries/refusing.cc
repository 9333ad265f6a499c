// A library whose registration raises what is no error of Sluice.
#include <stdexcept>

#include "no_kernel.h"

namespace my_kernels {

static sluice::KernelTraits Fail() {
  throw std::runtime_error("no table");
}

REGISTER_OP_KERNEL(
    relu, MINE, CPUPlace, test_refusing, Fail(), NoKernel<float>);

}  // namespace my_kernels
