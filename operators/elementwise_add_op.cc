#include "sluice/framework/infer_shape_context.h"
#include "sluice/framework/op_registry.h"
#include "sluice/operators/math/broadcast.h"

namespace sluice::operators {
namespace {

using framework::DDim;
using framework::InferShapeContext;
using framework::OpSchema;
using platform::DType;

void ElementwiseAddShape(InferShapeContext& context) {
  const DDim x = context.input("X");
  const DDim y = context.input("Y");
  const auto axis = context.Attr<int64_t>("axis");
  if (!x.rank_known() || !y.rank_known()) {
    context.SetOutput("Out", DDim::UnknownRank());
    return;
  }
  context.Require(
      axis == -1 || y.rank() + axis <= x.rank(), "elementwise_add.axis",
      "Y of shape {} placed at axis = {} does not lie inside X of shape {}: "
      "expected axis + rank of Y <= {}",
      y, axis, x, x.rank());
  DDim out;
  const int conflict = math::BroadcastShape(x, y, axis, &out);
  context.Require(conflict < 0, "elementwise_add.shapes",
                  "X of shape {} and Y of shape {} (axis = {}) do not fit in "
                  "dim {}: expected equal sizes or a 1",
                  x, y, axis, conflict);
  context.SetOutput("Out", out);
}

void ElementwiseAddSchema(OpSchema& op) {
  op.Doc(
      "Out = X + Y, element by element. Sizes of 1, and dimensions that one of "
      "them lacks, are repeated: by default the last dimensions stand under "
      "each other, as in numpy; `axis` says otherwise. Integers wrap around.");
  op.TypeVar(
      "T", {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16,
            DType::kInt8, DType::kUInt8, DType::kInt32, DType::kInt64});
  op.Input("X", "T", "The first summand, of any shape.");
  op.Input("Y", "T", "The second one, of a shape that can be repeated to X's.");
  op.Output("Out", "T", "The sum, in the common shape.");
  op.Attr<int64_t>("axis",
                   "The dimension of X under which the first one of Y stands; "
                   "-1 aligns the last ones.")
      .Default(int64_t{-1})
      .AtLeast(-1)
      .AtMost(DDim::kMaxRank);
  op.InferShape(ElementwiseAddShape);
}

}  // namespace

REGISTER_OPERATOR(elementwise_add, ElementwiseAddSchema);

}  // namespace sluice::operators
