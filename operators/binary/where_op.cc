#include <array>

#include "sluice/operators/math/binary/where.h"
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

void WhereGradShape(InferShapeContext& context) {
  context.Merge(context.input("Out@GRAD"), {WhereDims(context), -1});
  context.SetOutput("X@GRAD", context.input("X"));
  context.SetOutput("Y@GRAD", context.input("Y"));
}

std::vector<OpDesc> WhereGradient(const OpDesc& forward) {
  return {MakeGradOp(forward, "where_grad",
                     {.inputs = {"Condition", "X", "Y"},
                      .output_grads = {"Out"},
                      .wanted = {"X", "Y"}})};
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
  op.InferShape(OutShape<WhereDims>).Elementwise().Gradient(WhereGradient);
  op.Onnx({"Where", {}}).Torch("torch.where(Condition, X, Y)");
}

void WhereGradSchema(OpSchema& op) {
  op.Doc(
      "The gradients of where: Out@GRAD where the element came from that "
      "operand, 0 elsewhere; each is summed over the dimensions in which that "
      "operand was repeated.");
  op.TypeVar("T", FloatDTypes());
  op.Input("Condition", "bool", "What decided.");
  op.Input("X", "T", "What was taken where it is true.", {.shape_only = true});
  op.Input("Y", "T", "What was taken where it is false.", {.shape_only = true});
  op.Input("Out@GRAD", "T", "The gradient of the result.");
  op.Output("X@GRAD", "T", "The gradient of X, in its shape.",
            {.optional = true});
  op.Output("Y@GRAD", "T", "The gradient of Y, in its shape.",
            {.optional = true});
  op.InferShape(WhereGradShape);
}

}  // namespace

REGISTER_OPERATOR(where, WhereSchema);
REGISTER_OPERATOR(where_grad, WhereGradSchema);

}  // namespace sluice
