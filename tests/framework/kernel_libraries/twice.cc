// A row that has one dtype two times.
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

REGISTER_OP_KERNEL(relu,
                   PLAIN,
                   CPUPlace,
                   test_twice,
                   KernelTraits(),
                   NoKernel<float>,
                   NoKernel<float>);

}  // namespace my_kernels
