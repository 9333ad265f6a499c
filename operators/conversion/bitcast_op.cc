#include "sluice/operators/math/cast.h"
#include "sluice/operators/math/strided_copy.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/number_format.h"

namespace sluice {
namespace {

// Returns the bits that an element occupies in memory. A bool is a byte.
int BitsOf(DType dtype) {
  constexpr int kByte = 8;
  return dtype == DType::kBool ? kByte : int{FormatOf(dtype).bits};
}

void BitcastShape(InferShapeContext& context) {
  const DType from = context.input_dtype("X");
  const auto to = context.Attr<DType>("dtype");
  context.Require(BitsOf(from) == BitsOf(to), "bitcast.bits",
                  "attribute dtype is {}, of {} bits; expected a dtype of {} "
                  "bits, as those of input X of {}",
                  to, BitsOf(to), BitsOf(from), from);
  context.SetOutput("Out", context.input("X"));
}

void BitcastSchema(OpSchema& op) {
  op.Doc(
      "The bits of X as numbers of another dtype of the same size. Bytes that "
      "are not 0 become true.");
  op.TypeVar("T", AllDTypes());
  op.TypeVarFromAttr("U", "dtype", AllDTypes());
  op.Input("X", "T", "The tensor, of any shape.");
  op.Output("Out", "U", "In the shape of X.");
  op.Attr<DType>("dtype", "The dtype of Out.");
  op.InferShape(BitcastShape).Elementwise();
  op.NoGradient("a number changes by jumps with its bits");
}

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

REGISTER_OPERATOR(bitcast, BitcastSchema);
REGISTER_OP_CPU_KERNEL(bitcast, BitcastKernel);

}  // namespace sluice
