#pragma once

#include <utility>

#include "sluice/operators/registration.h"

namespace sluice {

// Returns a gradient op for ops whose gradient an existing op computes: op
// `type` reads Out@GRAD as X and writes the gradient of variable `x` as Out.
inline OpDesc GradientThrough(const OpDesc& forward,
                              const std::string& x,
                              std::string type,
                              AttributeMap attributes) {
  OpDesc grad;
  grad.type = std::move(type);
  grad.inputs = {{"X", {GradName(forward.Output("Out").at(0))}}};
  grad.outputs = {{"Out", {GradName(x)}}};
  grad.attributes = std::move(attributes);
  grad.hint = forward.hint;
  grad.location = forward.location;
  return grad;
}

// The late shape of gradient ops with operands: X@GRAD has that of X.
inline void GradientLateShape(InferShapeContext& context) {
  context.SetOutput("X@GRAD", context.input("X"));
}

}  // namespace sluice
