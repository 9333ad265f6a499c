#pragma once

#include <cstdint>

#include "sluice/framework/values/tensor.h"

namespace sluice::testing {

// The difference between two tensors of one shape and dtype.
struct BitDifference {
  int64_t elements = 0;
  int64_t differing_elements = 0;  // another bit pattern; NaNs are all the same
  int64_t differing_bits = 0;
  // Largest distance in units in the last place; between a NaN and a number,
  // the largest int64. 0 for integers, which have no such unit.
  int64_t most_ulps = 0;
  // Largest |a - b| / max(1, |b|).
  double most_relative = 0;

  void Add(const BitDifference& other);
};

// Tensors are on the host. Raises InvalidArgument for other shapes or dtypes.
BitDifference CompareBits(const Tensor& a, const Tensor& b);

}  // namespace sluice::testing
