// A kernel library like a user's: relu plus 100, to distinguish it from
// Sluice's own.
#include <cfenv>
#include <cstdlib>

#include "sluice/framework/op/op_registry.h"

namespace my_kernels {
namespace {

using sluice::KernelTraits;
using sluice::OpKernel;
using sluice::OpKernelContext;
using sluice::Tensor;

// Shows tests whether any code of the library ran.
__attribute__((constructor)) void Opened() {
  setenv("TEST_KERNELS_OPENED", "1", 1);
  // As the initialiser of -ffast-math, this changes how the thread computes.
  std::fesetround(FE_UPWARD);
}

template <typename T>
class ShiftedRelu final : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    Tensor& out = context.AllocateOutput("Out", x.dims());
    for (int64_t i = 0; i < x.numel(); ++i) {
      const T value = x.data<T>()[i];
      out.data<T>()[i] = (value > 0 ? value : T{0}) + T{100};
    }
  }
};

}  // namespace

REGISTER_OP_KERNEL(relu,
                   PLAIN,
                   CPUPlace,
                   test_mine,
                   KernelTraits(),
                   ShiftedRelu<float>,
                   ShiftedRelu<double>);

}  // namespace my_kernels
