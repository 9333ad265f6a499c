// A kernel that reads an input that its op lacks.
#include "sluice/framework/op/op_registry.h"

namespace my_kernels {
namespace {

using sluice::KernelTraits;
using sluice::OpKernel;
using sluice::OpKernelContext;

template <typename T>
class AskingRelu final : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext& context) const override {
    context.AllocateOutput("Out", context.Input("Y").dims());
  }
};

}  // namespace

REGISTER_OP_KERNEL(
    relu, PLAIN, CPUPlace, test_asking, KernelTraits(), AskingRelu<float>);

}  // namespace my_kernels
