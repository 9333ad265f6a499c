#pragma once

#include <cstdint>
#include <vector>

#include "sluice/nn.h"
#include "sluice/sluice.h"

// For examples/data, whose arrays hold bytes.
namespace examples {

// Rows [begin, end) of an array of bytes, as T.
template <typename T>
sluice::Tensor Rows(const sluice::Tensor& bytes, int64_t begin, int64_t end) {
  const sluice::Tensor rows = bytes.Slice(begin, end);
  const auto* values = rows.data<uint8_t>();
  return sluice::Tensor::FromVector(
      rows.dims(), std::vector<T>(values, values + rows.numel()));
}

}  // namespace examples
