#pragma once

#include <string>

#include "sluice/onnx/import/node.h"

namespace sluice::onnx {

// x / y of integers, rounded towards 0; 0 if y is 0.
std::string Quotient(Node& node, const std::string& x, const std::string& y);
// The inputs with which elementwise_floordiv computes that quotient.
Inputs QuotientInputs(Node& node, const std::string& x, const std::string& y);

// Integer dtypes of 8 bits and more, and the unsigned ones.
bool IsInteger(DType dtype);
bool IsUnsigned(DType dtype);

// Whether the op of this type accepts a dtype for input X.
bool TakesDType(const std::string& op, DType dtype);

}  // namespace sluice::onnx
