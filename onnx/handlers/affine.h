#pragma once

#include "sluice/onnx/import/node.h"

namespace sluice::onnx {

// What a node does with its two inputs.
enum class AffineKind : uint8_t { kMultiply, kAdd };

// Imports a Mul or Add of a number for each channel, or one for all, as a
// change of the batch norm before it: one more batch norm with other Scale and
// Bias, of which the old one is not needed any more. True where that was done:
// the batch norm has constant parameters, nothing else reads its result, and
// the numbers are constants.
bool FoldIntoBatchNorm(Node& node, AffineKind kind);

}  // namespace sluice::onnx
