#pragma once

#include <cstdint>
#include <optional>

#include "sluice/onnx/import/node.h"

namespace sluice::onnx {

// The operation of a node on its two inputs.
enum class AffineKind : uint8_t { kMultiply, kAdd };

// Folds a Mul or Add of a number for each channel, or one for all, into the
// batch norm before it: appends a batch norm with changed Scale and Bias, which
// replaces the old one. Returns false unless the batch norm has constant
// parameters, nothing else reads its result, and the numbers are constants.
bool FoldIntoBatchNorm(Node& node, AffineKind kind);

// Imports a Mul or Add of one constant number as op `scale`. An Add after such
// a Mul becomes part of the same op. Returns whether it did. The result has the
// same bits.
bool ImportScale(Node& node, AffineKind kind);

// The value of a constant of one element for an input of this shape; nullopt
// for other inputs, for integers and for numbers that are not finite.
std::optional<double> NumberFor(const Node& node, int constant, int input);

}  // namespace sluice::onnx
