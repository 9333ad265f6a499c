// A kernel for an unknown op; the one before it is correct.
#include "sluice/framework/op/op_registry.h"

namespace my_kernels {
namespace {

using sluice::KernelTraits;
using sluice::OpKernel;
using sluice::OpKernelContext;

template <typename T>
class NoKernel final : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext& /*context*/) const override {}
};

}  // namespace

REGISTER_OP_KERNEL(
    abs, PLAIN, CPUPlace, test_misspelt, KernelTraits(), NoKernel<float>);
REGISTER_OP_KERNEL(
    relux, PLAIN, CPUPlace, test_mine, KernelTraits(), NoKernel<float>);

}  // namespace my_kernels
