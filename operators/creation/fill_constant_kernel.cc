#include "sluice/operators/math/cast.h"
#include "sluice/operators/math/fill.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

class FillConstantKernel final : public OpKernel {
 public:
  explicit FillConstantKernel(const OpKernelConstruction& construction) {
    const auto value = construction.Attr<double>("value");
    Cast(&value, 1, construction.Attr<DType>("dtype"), &value_);
  }

  void Prepare(KernelPreparation& preparation) override {
    dims_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    Tensor& out = context.AllocateOutput(0, dims_);
    if (out.numel() == 0) return;
    FillBytes(&value_, SizeOf(out.dtype()), out.numel(), out.raw_data());
  }

 private:
  DDim dims_;
  uint64_t value_ = 0;  // its first bytes are the element
};

}  // namespace

REGISTER_OP_CPU_KERNEL(fill_constant, FillConstantKernel);
REGISTER_OP_CPU_KERNEL(fill_any_like, FillConstantKernel);

}  // namespace sluice
