#pragma once

#include <cstdint>
#include <optional>

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

// Imports a Mul or Add of one constant number as op `scale`, which an Add after
// such a Mul becomes a part of; true where that was done. The result has the
// same bits.
bool ImportScale(Node& node, AffineKind kind);

// The number that a constant of one element is for an input of this shape;
// nullopt for other inputs, for integers and for what is not finite.
std::optional<double> NumberFor(const Node& node, int constant, int input);

}  // namespace sluice::onnx
