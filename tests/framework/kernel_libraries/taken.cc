// A kernel with the name of Sluice's own; the one before it is correct.
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
    abs, PLAIN, CPUPlace, test_taken, KernelTraits(), NoKernel<float>);
REGISTER_OP_KERNEL(
    relu, PLAIN, CPUPlace, plain, KernelTraits(), NoKernel<float>);

}  // namespace my_kernels
