#pragma once

#include <cstdint>
#include <string>
#include <vector>

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

// The begin and end of a slice along a dim: int64 variables, for operands
// Starts and Ends of slice.
struct LatePart {
  std::string start;
  std::string end;
};

// `count` consecutive slices whose sizes are input `sizes` of the node, a
// vector that is known only at run time.
std::vector<LatePart> LateParts(Node& node, int sizes, int64_t count);

// Raises InvalidArgument if a size is negative or the sizes do not add up to
// `size`, the size of dim `axis` of an input, unless it is kUnknownDim.
void CheckParts(const Ints& sizes, int64_t size, int64_t axis);

}  // namespace sluice::onnx
