#include "sluice/operators/registration.h"

namespace sluice {
namespace {

void NonzeroShape(InferShapeContext& context) {
  const DDim x = context.input("X");
  const int64_t rank = x.rank_known() ? x.rank() : kUnknownDim;
  context.SetOutput("Out", DDim({rank, kUnknownDim}));
}

void NonzeroSchema(OpSchema& op) {
  op.Doc(
      "Where the elements are that are not zero: np.stack(np.nonzero(X)). NaN "
      "is none, -0 is zero. How many there are is known when it has run: what "
      "reads Out is prepared then.");
  op.TypeVar("T", AllDTypes());
  op.Input("X", "T", "Of any shape.");
  op.Output("Out", "int64",
            "[rank of X, number of elements that are not zero]: their indices, "
            "a dimension a row, in row-major order.");
  op.InferShape(NonzeroShape).Onnx({"NonZero", {}});
  op.Torch("torch.nonzero(X).T");
}

}  // namespace

REGISTER_OPERATOR(nonzero, NonzeroSchema);

}  // namespace sluice
