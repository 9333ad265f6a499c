#pragma once

#include <string>

#include "sluice/onnx/import/node.h"

namespace sluice::onnx {

// Inputs of a node: two factors of int8 or uint8, with their scales and zero
// points, which the node may omit. Those of x are one number.
struct QuantizedFactors {
  int x, x_scale, x_zero, y, y_scale, y_zero;
};

// Their matrix product, in the dtype of the scales.
std::string FloatProduct(Node& node, const QuantizedFactors& factors);

}  // namespace sluice::onnx
