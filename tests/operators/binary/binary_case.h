#pragma once

#include <algorithm>
#include <vector>

#include "tests/operators/harness/op_case.h"

#include "sluice/operators/math/binary/binary_row.h"

namespace sluice::testing {

// Calls visit(offset in X, in Y, in the common shape), which it returns, for
// each element of the latter.
template <typename Visit>
DDim ForEachPair(const DDim& x, const DDim& y, int64_t axis, Visit visit) {
  const int rank = std::max(x.rank(), y.rank());
  const int x_axis = rank - x.rank();
  const int y_axis = axis < 0 ? rank - y.rank() : static_cast<int>(axis);
  DDim dims(std::vector<int64_t>(rank, 1));
  for (int i = 0; i < x.rank(); ++i) {
    dims[x_axis + i] = x[i];
  }
  for (int i = 0; i < y.rank(); ++i) {
    if (dims[y_axis + i] == 1) dims[y_axis + i] = y[i];
  }
  const Array out(dims);
  const auto offset = [](const DDim& own, int first,
                         const std::vector<int64_t>& index) {
    int64_t at = 0;
    for (int i = 0; i < own.rank(); ++i) {
      at = at * own[i] + (own[i] == 1 ? 0 : index[first + i]);
    }
    return static_cast<size_t>(at);
  };
  for (size_t i = 0; i < out.values.size(); ++i) {
    const auto index = out.IndexOf(static_cast<int64_t>(i));
    visit(offset(x, x_axis, index), offset(y, y_axis, index), i);
  }
  return dims;
}

// The cases of the harness for every kernel of the row's op and its gradient.
OpCase BinaryCase(const BinaryInfo& info);
OpCase BinaryGradCase(const BinaryInfo& info);

}  // namespace sluice::testing
