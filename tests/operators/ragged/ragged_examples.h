#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/operators/harness/op_case.h"

// Examples of ops over ragged rows, and their sequences as lists of rows.
namespace sluice::testing {

using Lengths = std::vector<int64_t>;
// For each sequence the rows that it has.
using RowLists = std::vector<std::vector<int64_t>>;

inline Lengths OffsetsOf(const Lengths& lengths) {
  Lengths offsets = {0};
  for (const int64_t length : lengths) {
    offsets.push_back(offsets.back() + length);
  }
  return offsets;
}

inline Tensor OffsetsTensor(const Lengths& lengths) {
  const Lengths offsets = OffsetsOf(lengths);
  return Tensor::FromVector<int64_t>({static_cast<int64_t>(offsets.size())},
                                     offsets);
}

// Lengths with empty sequences at the ends and inside; none; one; and enough
// rows for two threads.
inline std::vector<Lengths> ManyLengths() {
  return {{3, 0, 1, 4}, {}, {0, 0}, {1}, Lengths(90, 97), {0, 2, 0}};
}

inline RowLists RowsOfSequences(const Arrays& in,
                                const std::string& name = "Offsets") {
  const Array& offsets = in.at(name);
  RowLists lists;
  for (size_t b = 0; b + 1 < offsets.values.size(); ++b) {
    auto& rows = lists.emplace_back();
    for (auto row = static_cast<int64_t>(offsets.values[b]);
         row < static_cast<int64_t>(offsets.values[b + 1]); ++row) {
      rows.push_back(row);
    }
  }
  return lists;
}

inline int64_t WidthOf(const DDim& dims, int first = 1) {
  int64_t width = 1;
  for (int axis = first; axis < dims.rank(); ++axis) {
    width *= dims[axis];
  }
  return width;
}

}  // namespace sluice::testing
