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

}  // namespace sluice::onnx
