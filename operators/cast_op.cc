#include "sluice/framework/infer_shape_context.h"
#include "sluice/framework/op_registry.h"
#include "sluice/operators/op_dtypes.h"

namespace sluice::operators {

namespace {

using framework::InferShapeContext;
using framework::OpSchema;

void CastShape(InferShapeContext& context) {
  context.SetOutput("Out", context.input("X"));
}

void CastSchema(OpSchema& op) {
  op.Doc(
      "X in another dtype. To a float: rounded to nearest, ties to even. From "
      "a float to an integer: the fraction is dropped, values past the ends of "
      "the range become its ends and NaN becomes 0. From an integer to a "
      "smaller one: the upper bits are dropped. To bool: whether it is not 0, "
      "which NaN is not; from bool: 0 or 1.");
  op.TypeVar("T", AllDTypes());
  op.TypeVarFromAttr("U", "dtype", AllDTypes());
  op.Input("X", "T", "The tensor, of any shape.");
  op.Output("Out", "U", "The elements of X as `dtype`, in the shape of X.");
  op.Attr<platform::DType>("dtype", "The dtype of Out.");
  op.InferShape(CastShape);
}

}  // namespace

REGISTER_OPERATOR(cast, CastSchema);

}  // namespace sluice::operators
