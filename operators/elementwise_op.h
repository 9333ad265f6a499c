#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "sluice/framework/op/infer_shape_context.h"
#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/math/broadcast.h"
#include "sluice/operators/op_dtypes.h"

// What elementwise_add and its like have in common: arguments, broadcasting
// and gradients.
namespace sluice::operators {

// The common shape of X and Y.
inline framework::DDim ElementwiseDims(
    const framework::InferShapeContext& context) {
  using framework::DDim;
  const DDim x = context.input("X");
  const DDim y = context.input("Y");
  const auto axis = context.Attr<int64_t>("axis");
  if (!x.rank_known() || !y.rank_known()) return DDim::UnknownRank();
  context.Require(
      axis == -1 || y.rank() + axis <= x.rank(), "elementwise.axis",
      "Y of shape {} placed at axis = {} does not lie inside X of shape {}: "
      "expected axis + rank of Y <= {}",
      y, axis, x, x.rank());
  DDim out;
  const int conflict = math::BroadcastShape(x, y, axis, &out);
  context.Require(conflict < 0, "elementwise.shapes",
                  "X of shape {} and Y of shape {} (axis = {}) do not fit in "
                  "dim {}: expected equal sizes or a 1",
                  x, y, axis, conflict);
  return out;
}

inline void ElementwiseShape(framework::InferShapeContext& context) {
  context.SetOutput("Out", ElementwiseDims(context));
}

// `results`: the inputs that have the shape of the forward op's result.
inline void ElementwiseGradShape(framework::InferShapeContext& context,
                                 std::initializer_list<const char*> results) {
  const framework::DDim out = ElementwiseDims(context);
  for (const char* result : results) {
    context.Merge(context.input(result), {out, -1});
  }
  context.SetOutput("X@GRAD", context.input("X"));
  context.SetOutput("Y@GRAD", context.input("Y"));
}

inline void ElementwiseAxis(framework::OpSchema& op) {
  op.Attr<int64_t>("axis",
                   "The dimension of X under which the first one of Y stands; "
                   "-1 aligns the last ones.")
      .Default(int64_t{-1})
      .AtLeast(-1)
      .AtMost(framework::DDim::kMaxRank);
}

// `formula` is the first sentence of the doc.
inline void ElementwiseSchema(framework::OpSchema& op,
                              const std::string& formula,
                              std::vector<platform::DType> dtypes) {
  const bool integers = dtypes.size() > FloatDTypes().size();
  op.Doc(formula +
         ", element by element. Sizes of 1, and dimensions that one of them "
         "lacks, are repeated: by default the last dimensions stand under "
         "each other, as in numpy; `axis` says otherwise." +
         (integers ? " Integers wrap around." : ""));
  op.TypeVar("T", std::move(dtypes));
  op.Input("X", "T", "The left operand, of any shape.");
  op.Input("Y", "T", "The right one, of a shape that can be repeated to X's.");
  op.Output("Out", "T", "The result, in the common shape.");
  ElementwiseAxis(op);
  op.InferShape(ElementwiseShape);
}

// What a gradient op reads of the operands: their shapes, or also the elements.
enum class Reads : uint8_t { kShape, kElements };

inline void ElementwiseGradSchema(framework::OpSchema& op,
                                  const std::string& formulas,
                                  Reads x,
                                  Reads y,
                                  bool reads_out = false) {
  op.Doc(formulas +
         "; each is summed over the dimensions in which that operand was "
         "repeated.");
  op.TypeVar("T", FloatDTypes());
  op.Input("X", "T", "The left operand.", {.shape_only = x == Reads::kShape});
  op.Input("Y", "T", "The right one.", {.shape_only = y == Reads::kShape});
  if (reads_out) op.Input("Out", "T", "The result.");
  op.Input("Out@GRAD", "T", "The gradient of the result.");
  op.Output("X@GRAD", "T", "The gradient of X, in its shape.",
            {.optional = true});
  op.Output("Y@GRAD", "T", "The gradient of Y, in its shape.",
            {.optional = true});
  ElementwiseAxis(op);
  if (reads_out) {
    op.InferShape([](framework::InferShapeContext& context) {
      ElementwiseGradShape(context, {"Out@GRAD", "Out"});
    });
  } else {
    op.InferShape([](framework::InferShapeContext& context) {
      ElementwiseGradShape(context, {"Out@GRAD"});
    });
  }
}

}  // namespace sluice::operators
