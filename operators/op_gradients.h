#pragma once

#include <string>
#include <utility>

#include "sluice/framework/op/op_schema.h"

namespace sluice::operators {

// Returns a gradient op for ops whose gradient an existing op computes: op
// `type` reads Out@GRAD as X and writes the gradient of variable `x` as Out.
inline framework::OpDesc GradientThrough(const framework::OpDesc& forward,
                                         const std::string& x,
                                         std::string type,
                                         framework::AttributeMap attributes) {
  framework::OpDesc grad;
  grad.type = std::move(type);
  grad.inputs = {{"X", {framework::GradName(forward.Output("Out").at(0))}}};
  grad.outputs = {{"Out", {framework::GradName(x)}}};
  grad.attributes = std::move(attributes);
  grad.hint = forward.hint;
  grad.location = forward.location;
  return grad;
}

}  // namespace sluice::operators
