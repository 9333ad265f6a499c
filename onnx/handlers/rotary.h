#pragma once

#include <cstdint>
#include <string>

#include "sluice/onnx/import/node.h"

namespace sluice::onnx {

// The angles by which positions turn pairs of elements.
struct Rotation {
  std::string cos, sin;  // [batch or 1, sequence, pairs]
  int64_t turned;        // the first elements of each head, which have pairs
  // Whether pairs are neighbours; otherwise they are half of `turned` apart.
  bool interleaved;
};

// Turns the pairs of x, whose last dim is the elements of a head. x has 4 dims:
// the batch, the sequence, and the heads at dim `heads`, 1 or 2.
std::string Rotated(Node& node,
                    const std::string& x,
                    int64_t heads,
                    const Rotation& rotation);

}  // namespace sluice::onnx
