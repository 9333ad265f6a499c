#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sluice/onnx/import/node.h"

namespace sluice::onnx {

// Where a part of a tensor begins and ends along a dim: variables of one int64,
// for operands Starts and Ends of slice.
struct LatePart {
  std::string start;
  std::string end;
};

// The parts that follow one another, `count` of them, whose sizes are input
// `sizes` of the node, a vector that is known only when the model runs.
std::vector<LatePart> LateParts(Node& node, int sizes, int64_t count);

// Raises InvalidArgument unless the sizes are 0 or more, and add up to `size`,
// that of dim `axis` of an input; kUnknownDim is not compared.
void CheckParts(const Ints& sizes, int64_t size, int64_t axis);

}  // namespace sluice::onnx
