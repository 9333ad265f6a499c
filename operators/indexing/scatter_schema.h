#pragma once

#include <algorithm>

#include "sluice/operators/registration.h"

// Shared by the schemas of scatter_elements and scatter_nd.
namespace sluice {

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

// X and Updates have gradients if reduction is none or add. X@GRAD is 0 where
// an element of X was replaced.
inline std::vector<OpDesc> ScatterGradient(const OpDesc& forward) {
  const auto found = forward.attributes.find("reduction");
  const auto* reduction = found == forward.attributes.end()
                              ? nullptr
                              : std::get_if<std::string>(&found->second);
  SLUICE_ENFORCE(
      reduction == nullptr || *reduction == "none" || *reduction == "add",
      ErrorCode::kUnimplemented, "scatter.gradient",
      "{}: there is no gradient with reduction = {}; there are those of none "
      "and add",
      forward.type, *reduction);
  return {MakeGradOp(forward, forward.type + "_grad",
                     {.inputs = {"X", "Index", "Updates"},
                      .output_grads = {"Out"},
                      .wanted = {"X", "Updates"}})};
}

// Index comes between X and Updates.
inline void AddScatterGradArguments(OpSchema& op) {
  op.TypeVar("T", FloatDTypes()).TypeVar("S", IndexDTypes());
  op.Input("X", "T", "What was scattered into.", {.shape_only = true});
  op.Input("Index", "S", "Which elements; checked when the op runs.");
  op.Input("Updates", "T", "What was scattered.", {.shape_only = true});
  op.Input("Out@GRAD", "T", "The gradient of Out, in its shape.");
  op.Output("X@GRAD", "T", "The gradient of X, in its shape.",
            {.optional = true});
  op.Output("Updates@GRAD", "T", "The gradient of Updates, in its shape.",
            {.optional = true});
  op.Attr<std::string>("reduction", "none or add, as the forward op had it.")
      .Default(std::string("none"))
      .OneOf({"none", "add"});
  op.Attr<bool>("include_self", "As the forward op had it.").Default(true);
}

}  // namespace sluice
