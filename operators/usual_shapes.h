#pragma once

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

}  // namespace sluice
