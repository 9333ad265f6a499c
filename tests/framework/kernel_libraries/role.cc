// An operator with a role of Sluice's; the one before it is correct.
#include "sluice/framework/op/infer_shape_context.h"
#include "sluice/framework/op/op_registry.h"
#include "sluice/framework/op/op_schema.h"

namespace my_kernels {
namespace {

void SumOfOne(sluice::OpSchema& op) {
  op.Doc("Out has the shape of X.");
  op.TypeVar("T", {sluice::DType::kFloat32});
  op.Input("X", "T", "").Output("Out", "T", "");
  op.InferShape([](sluice::InferShapeContext& context) {
    context.SetOutput(0, context.input(0));
  });
}

void SumOfAll(sluice::OpSchema& op) {
  SumOfOne(op);
  op.Serves(sluice::OpRole::kSum);
}

}  // namespace

REGISTER_OPERATOR(test_before_role, SumOfOne);
REGISTER_OPERATOR(test_role, SumOfAll);

}  // namespace my_kernels
