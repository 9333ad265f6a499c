#pragma once

#include <cstdint>
#include <vector>

#include "sluice/framework/values/tensor.h"

namespace sluice::testing {

// The offsets of sequences with these lengths.
inline Tensor OffsetsTensor(const std::vector<int64_t>& lengths) {
  std::vector<int64_t> offsets = {0};
  for (const int64_t length : lengths) {
    offsets.push_back(offsets.back() + length);
  }
  return Tensor::FromVector<int64_t>({static_cast<int64_t>(offsets.size())},
                                     offsets);
}

}  // namespace sluice::testing
