#pragma once

#include <string>

#include "sluice/onnx/import/node.h"

namespace sluice::onnx {

// x / y of integers, rounded towards 0; 0 where y is 0.
std::string Quotient(Node& node, const std::string& x, const std::string& y);
// The inputs with which elementwise_floordiv gives it.
Inputs QuotientInputs(Node& node, const std::string& x, const std::string& y);

// Integers of 8 bits and more; those that have no sign.
bool IsInteger(DType dtype);
bool IsUnsigned(DType dtype);

// Whether the op of this type takes input X of a dtype.
bool TakesDType(const std::string& op, DType dtype);

}  // namespace sluice::onnx
