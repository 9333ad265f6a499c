#pragma once

#include <cstdint>

#include "sluice/framework/values/tensor.h"

namespace sluice::testing {

// How far two tensors of one shape and dtype are apart.
struct BitDifference {
  int64_t elements = 0;
  int64_t differing_elements = 0;  // another bit pattern; NaNs are all the same
  int64_t differing_bits = 0;
  // Largest distance in units of the last place; of a NaN from a number: the
  // largest int64. 0 for integers, whose difference has no such unit.
  int64_t most_ulps = 0;
  // Largest |a - b| / max(1, |b|).
  double most_relative = 0;

  void Add(const BitDifference& other);
};

// Both on the host. Raises InvalidArgument for other shapes or dtypes.
BitDifference CompareBits(const framework::Tensor& a,
                          const framework::Tensor& b);

}  // namespace sluice::testing
