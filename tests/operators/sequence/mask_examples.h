#pragma once

#include <utility>
#include <vector>

#include "tests/operators/harness/op_case.h"

// Inputs for ops on embeddings and run-length coded masks, and access to masks
// for references.
namespace sluice::testing {

// Runs with 0 <= start <= end <= Y, many of them empty.
inline Tensor RandomMask(ExampleMaker& make,
                         DType dtype,
                         const DDim& dims,
                         int64_t y) {
  Array mask(dims);
  for (size_t i = 0; i + 1 < mask.values.size(); i += 2) {
    const int64_t start = make.Integer(0, y);
    const int64_t end =
        make.Integer(0, 2) == 0 ? start : make.Integer(start, y);
    mask.values[i] = static_cast<double>(start);
    mask.values[i + 1] = static_cast<double>(end);
  }
  return ToTensor(mask, dtype);
}

// Embedding and Mask of empty, small and larger sizes, with masks of both
// dtypes.
inline std::vector<OpExample> MaskExamples(ExampleMaker& make) {
  const int64_t sizes[][5] = {
      // B, M, X, Y, N
      {2, 3, 5, 7, 3}, {1, 1, 1, 1, 1}, {3, 2, 4, 9, 16},  {1, 5, 3, 8, 33},
      {0, 2, 3, 4, 5}, {2, 0, 3, 4, 5}, {2, 3, 0, 4, 5},   {2, 3, 4, 0, 5},
      {2, 3, 4, 5, 0}, {1, 4, 5, 6, 2}, {2, 9, 37, 41, 16}};
  std::vector<OpExample> examples;
  for (DType dtype : {DType::kInt32, DType::kInt64}) {
    for (const auto& [b, m, x, y, n] : sizes) {
      examples.push_back({{{"Embedding", make.Values({b, x, y, n})},
                           {"Mask", RandomMask(make, dtype, {b, m, x, 2}, y)}},
                          {}});
    }
  }
  return examples;
}

using Pixels = std::vector<std::pair<int64_t, int64_t>>;

// Calls visit(b, m, pixels) for each mask of images of `dims`, [B, X, Y, N].
template <typename Visit>
void ForEachMask(const Array& mask, const DDim& dims, const Visit& visit) {
  for (int64_t b = 0; b < mask.dims[0]; ++b) {
    for (int64_t m = 0; m < mask.dims[1]; ++m) {
      Pixels pixels;
      for (int64_t x = 0; x < dims[1]; ++x) {
        for (int64_t y = 0; y < dims[2]; ++y) {
          const auto place = static_cast<double>(y);
          if (place >= mask(b, m, x, 0) && place < mask(b, m, x, 1)) {
            pixels.emplace_back(x, y);
          }
        }
      }
      visit(b, m, pixels);
    }
  }
}

}  // namespace sluice::testing
