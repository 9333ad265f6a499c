// An operator with the name of one of Sluice's; the one before it is correct.
#include "sluice/framework/op/infer_shape_context.h"
#include "sluice/framework/op/op_registry.h"

namespace my_kernels {
namespace {

using sluice::DType;
using sluice::InferShapeContext;
using sluice::OpSchema;

void SameShape(OpSchema& op) {
  op.Doc("Out has the shape of X.");
  op.TypeVar("T", {DType::kFloat32});
  op.Input("X", "T", "").Output("Out", "T", "");
  op.InferShape([](InferShapeContext& context) {
    context.SetOutput(0, context.input(0));
  });
}

}  // namespace

REGISTER_OPERATOR(test_new_op, SameShape);
REGISTER_OPERATOR(relu, SameShape);

}  // namespace my_kernels
