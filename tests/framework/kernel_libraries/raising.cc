// A library with an initialiser that raises.
#include <stdexcept>

#include "no_kernel.h"

namespace my_kernels {

static int Fail() {
  throw std::runtime_error("not today");
}

extern const int kNever;
const int kNever = Fail();

REGISTER_OP_KERNEL(relu,
                   MINE,
                   CPUPlace,
                   test_raising,
                   sluice::KernelTraits(),
                   NoKernel<float>);

}  // namespace my_kernels
