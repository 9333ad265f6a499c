// A kernel with the name of that of Sluice's CUDA module.
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
    abs, PLAIN, CPUPlace, test_plain_cuda, KernelTraits(), NoKernel<float>);
REGISTER_OP_KERNEL(
    relu, PLAIN, CUDAPlace, plain, KernelTraits(), NoKernel<float>);

}  // namespace my_kernels
