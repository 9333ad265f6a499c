#include "sluice/framework/op/infer_shape_context.h"
#include "sluice/framework/op/op_registry.h"

namespace my_ops {
namespace {

using sluice::DType;
using sluice::InferShapeContext;
using sluice::OpSchema;

void SteepReluShape(InferShapeContext& context) {
  context.SetOutput("Out", context.input("X"));
}

void SteepReluSchema(OpSchema& op) {
  op.Doc("Out = X where X is positive, else slope * X.");
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  op.Input("X", "T", "A tensor of any shape.");
  op.Output("Out", "T", "A tensor of the same shape.");
  op.Attr<double>("slope", "The factor of what is negative.")
      .Default(0.01)
      .AtLeast(0);
  op.InferShape(SteepReluShape);
}

}  // namespace

REGISTER_OPERATOR(steep_relu, SteepReluSchema);

}  // namespace my_ops
