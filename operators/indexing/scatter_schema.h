#pragma once

#include <algorithm>

#include "sluice/operators/registration.h"

// Shared by the schemas of scatter_elements and scatter_nd.
namespace sluice {

// Checks Index; returns the shape of Updates.
using IndexedDims = DDim (*)(const InferShapeContext&);

inline void AddReductionAttribute(OpSchema& op) {
  op.Attr<std::string>(
        "reduction",
        "What an update makes of the element at its place: none: replaces it, "
        "and the last update counts; add, mul, max or min: is combined with "
        "it. NaN is both the largest and the smallest number.")
      .Default(std::string("none"))
      .OneOf({"none", "add", "mul", "max", "min"});
  op.Attr<bool>(
        "include_self",
        "Whether the element of X at its place is combined, too; false: "
        "the updates alone. Elements without an update are those of X.")
      .Default(true);
}

inline void RequireReducible(const InferShapeContext& context) {
  const auto& reduction = context.Attr<std::string>("reduction");
  const DType dtype = context.input_dtype("X");
  const std::vector<DType> numbers = NumericDTypes();
  context.Require(
      reduction == "none" ||
          std::find(numbers.begin(), numbers.end(), dtype) != numbers.end(),
      "scatter.reduction",
      "attribute reduction is {}, and input X of {}; expected a dtype that "
      "is computed with, or none",
      reduction, dtype);
}

template <IndexedDims kDims>
void ScatterShape(InferShapeContext& context) {
  RequireReducible(context);
  context.Merge(context.input("Updates"), {kDims(context), -1});
  context.SetOutput("Out", context.input("X"));
}

template <IndexedDims kDims>
void ScatterGradShape(InferShapeContext& context) {
  const DDim updates =
      context.Merge(context.input("Updates"), {kDims(context), -1});
  context.Merge(context.input("Out@GRAD"), context.input("X"));
  context.SetOutput("X@GRAD", context.input("X"));
  context.SetOutput("Updates@GRAD", updates);
}

// Without a reduction, or by sums, the gradients need no values of X and
// Updates: an op of its own, so that these can be freed.
inline std::vector<OpDesc> ScatterGradient(const OpDesc& forward) {
  const auto found = forward.attributes.find("reduction");
  const auto* reduction = found == forward.attributes.end()
                              ? nullptr
                              : std::get_if<std::string>(&found->second);
  const bool moves =
      reduction == nullptr || *reduction == "none" || *reduction == "add";
  return {MakeGradOp(forward, forward.type + (moves ? "_grad" : "_reduce_grad"),
                     {.inputs = {"X", "Index", "Updates"},
                      .output_grads = {"Out"},
                      .wanted = {"X", "Updates"}})};
}

// Index comes between X and Updates. `reductions` are those of the op.
inline void AddScatterGradArguments(OpSchema& op,
                                    std::vector<std::string> reductions) {
  const ArgTraits read = {.shape_only = reductions[0] == "none"};
  op.TypeVar("T", FloatDTypes()).TypeVar("S", IndexDTypes());
  op.Input("X", "T", "What was scattered into.", read);
  op.Input("Index", "S", "Which elements; checked when the op runs.");
  op.Input("Updates", "T", "What was scattered.", read);
  op.Input("Out@GRAD", "T", "The gradient of Out, in its shape.");
  op.Output("X@GRAD", "T", "The gradient of X, in its shape.",
            {.optional = true});
  op.Output("Updates@GRAD", "T", "The gradient of Updates, in its shape.",
            {.optional = true});
  op.Attr<std::string>("reduction", "As the forward op had it.")
      .Default(reductions[0])
      .OneOf(reductions);
  op.Attr<bool>("include_self", "As the forward op had it.").Default(true);
}

inline std::string ReduceGradDoc(const std::string& name) {
  return "The gradients of " + name +
         " with mul, max and min. mul: that of Out times the other factors, "
         "without a division, so that they may be 0. max and min: that of Out "
         "for the elements that it is, in equal parts, as in PyTorch.";
}

}  // namespace sluice
