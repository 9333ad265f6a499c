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

}  // namespace

REGISTER_OPERATOR(bitcast, BitcastSchema);

}  // namespace sluice
