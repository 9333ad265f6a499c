#pragma once

#include <string>
#include <vector>

#include "sluice/framework/op/infer_shape_context.h"
#include "sluice/framework/op/op_schema.h"

// What the schemas of many ops with input X and output Out have in common.
namespace sluice {

// Out has the shape of X.
inline void SameShape(InferShapeContext& context) {
  context.SetOutput("Out", context.input("X"));
}

// Out has the shape that kDims returns, a DDim(const InferShapeContext&).
template <auto kDims>
void OutShape(InferShapeContext& context) {
  context.SetOutput("Out", kDims(context));
}

// Of the gradient op, whose inputs kDims reads likewise.
template <auto kDims>
void XGradShape(InferShapeContext& context) {
  context.Merge(context.input("Out@GRAD"), {kDims(context), -1});
  context.SetOutput("X@GRAD", context.input("X"));
}
template <auto kDims>
void YGradShape(InferShapeContext& context) {
  context.Merge(context.input("Out@GRAD"), {kDims(context), -1});
  context.SetOutput("Y@GRAD", context.input("Y"));
}

// The gradient op `<op>_grad` reads X and the gradient of Out.
inline std::vector<OpDesc> GradientFromX(const OpDesc& forward) {
  return {
      MakeGradOp(forward, forward.type + "_grad",
                 {.inputs = {"X"}, .output_grads = {"Out"}, .wanted = {"X"}})};
}

// It reads Out and its gradient.
inline std::vector<OpDesc> GradientFromOut(const OpDesc& forward) {
  return {MakeGradOp(
      forward, forward.type + "_grad",
      {.outputs = {"Out"}, .output_grads = {"Out"}, .wanted = {"X"}})};
}

}  // namespace sluice
