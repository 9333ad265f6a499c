#include <array>

#include "sluice/operators/math/binary/where.h"
#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/usual_shapes.h"

namespace sluice {
namespace {

// Returns the broadcast shape of Condition, X and Y.
DDim WhereDims(const InferShapeContext& context) {
  static constexpr std::array kNames = {"Condition", "X", "Y"};
  std::array<DDim, 3> dims;
  for (size_t i = 0; i < 3; ++i) {
    dims[i] = context.input(kNames[i]);
    if (!dims[i].rank_known()) return DDim::UnknownRank();
  }
  DDim out;
  const int misfit = sluice::WhereShape(dims, &out);
  context.Require(misfit < 0, "where.shapes",
                  "Condition of shape {}, X of shape {} and Y of shape {}: {} "
                  "does not fit, expected equal sizes or a 1",
                  dims[0], dims[1], dims[2], kNames[misfit < 0 ? 0 : misfit]);
  return out;
}

void WhereSchema(OpSchema& op) {
  op.Doc(
      "Out = X where Condition is true, Y elsewhere, element by element. Sizes "
      "of 1, and dimensions that one of the three lacks, are repeated, the "
      "last dimensions under each other, as in numpy.");
  op.TypeVar("T", AllDTypes());
  op.Input("Condition", "bool", "What decides, of any shape.");
  op.Input("X", "T", "What is taken where it is true.");
  op.Input("Y", "T", "What is taken where it is false.");
  op.Output("Out", "T", "The result, in the common shape.");
  op.InferShape(OutShape<WhereDims>).Elementwise();
  op.Onnx({"Where", {}}).Torch("torch.where(Condition, X, Y)");
}

constexpr GradientOp kWhereGrad = {
    .forward = WhereSchema,
    .doc =
        "The gradients of where: Out@GRAD where the element came from that "
        "operand, 0 elsewhere; each is summed over the dimensions in which "
        "that operand was repeated.",
    .inputs = {"Condition", ShapeOf("X"), ShapeOf("Y")},
    .wanted = {"X", "Y"},
    .dims = WhereDims};

}  // namespace

REGISTER_OPERATOR(where, WithGradient<kWhereGrad>);
REGISTER_OPERATOR(where_grad, GradientSchema<kWhereGrad>);

}  // namespace sluice
