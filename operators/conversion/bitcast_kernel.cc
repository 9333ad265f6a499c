#include "sluice/operators/math/cast.h"
#include "sluice/operators/math/strided_copy.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

class BitcastKernel final : public OpKernel {
 public:
  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Tensor& out = context.AllocateOutput(0, x.dims());
    if (out.numel() == 0) return;
    if (out.dtype() == DType::kBool) {
      // A bool must be stored as 0 or 1.
      Cast(DType::kUInt8, x.raw_data(), x.numel(), DType::kBool,
           out.raw_data());
    } else if (x.raw_data() != out.raw_data()) {
      CopyBytes(x.raw_data(), out.raw_data(), out.bytes());
    }
  }
};

}  // namespace

REGISTER_OP_CPU_KERNEL(bitcast, BitcastKernel);

}  // namespace sluice
