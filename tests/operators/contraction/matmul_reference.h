#pragma once

#include <algorithm>
#include <vector>

#include "tests/operators/harness/op_case.h"

// The terms of a matmul, one by one, for naive references.
namespace sluice::testing {

struct MatmulCase {
  DDim x, y;
  bool transpose_x = false, transpose_y = false;

  // A vector that is not transposed has no dimension in Out.
  bool has_row() const { return x.rank() > 1 || transpose_x; }
  bool has_column() const { return y.rank() > 1 || transpose_y; }
};

// The size of the dim `back` before the last, or 1 if there is none.
inline int64_t SizeFromEnd(const DDim& dims, int back) {
  return back < dims.rank() ? dims[dims.rank() - 1 - back] : 1;
}

inline DDim MatmulOutDims(const MatmulCase& c) {
  std::vector<int64_t> out;
  for (int back = std::max(c.x.rank(), c.y.rank()) - 1; back >= 2; --back) {
    const int64_t a = SizeFromEnd(c.x, back), b = SizeFromEnd(c.y, back);
    out.push_back(a == 1 ? b : a);
  }
  if (c.has_row()) {
    out.push_back(c.transpose_x ? SizeFromEnd(c.x, 0) : SizeFromEnd(c.x, 1));
  }
  if (c.has_column()) {
    const bool last = c.y.rank() > 1 && !c.transpose_y;
    out.push_back(last ? SizeFromEnd(c.y, 0)
                       : (c.y.rank() > 1 ? SizeFromEnd(c.y, 1) : c.y[0]));
  }
  return DDim(out);
}

// Calls visit(index into Out, into X, into Y) for each product that is summed.
template <typename Visit>
void ForEachMatmulTerm(const MatmulCase& c, const Visit& visit) {
  using Ints = std::vector<int64_t>;
  const Array out(MatmulOutDims(c));
  const int64_t depth =
      c.transpose_x ? SizeFromEnd(c.x, 1) : SizeFromEnd(c.x, 0);
  for (size_t o = 0; o < out.values.size(); ++o) {
    Ints batch = out.IndexOf(static_cast<int64_t>(o));
    const Ints out_index = batch;
    int64_t row = 0, column = 0;
    if (c.has_column()) {
      column = batch.back();
      batch.pop_back();
    }
    if (c.has_row()) {
      row = batch.back();
      batch.pop_back();
    }
    const auto in_batch = [&](const DDim& dims) {
      Ints index;
      for (int axis = 0; axis < dims.rank() - 2; ++axis) {
        const int64_t from_end = dims.rank() - 2 - axis;
        index.push_back(dims[axis] == 1 ? 0 : *(batch.end() - from_end));
      }
      return index;
    };
    for (int64_t l = 0; l < depth; ++l) {
      Ints x = in_batch(c.x), y = in_batch(c.y);
      if (c.x.rank() > 1) x.push_back(c.transpose_x ? l : row);
      x.push_back(c.transpose_x ? row : l);
      if (c.y.rank() > 1) {
        y.push_back(c.transpose_y ? column : l);
        y.push_back(c.transpose_y ? l : column);
      } else {
        y.push_back(c.transpose_y ? column : l);
      }
      visit(out_index, x, y);
    }
  }
}

// Out, or the result for Out@GRAD, for arrays of these shapes.
inline Array MatmulOut(const MatmulCase& c, const Array& x, const Array& y) {
  Array out(MatmulOutDims(c));
  ForEachMatmulTerm(c, [&](const auto& o, const auto& i, const auto& j) {
    out.values[out.Offset(o)] += x.values[x.Offset(i)] * y.values[y.Offset(j)];
  });
  return out;
}
inline Array MatmulXGrad(const MatmulCase& c,
                         const Array& grad,
                         const Array& y) {
  Array x(c.x);
  ForEachMatmulTerm(c, [&](const auto& o, const auto& i, const auto& j) {
    x.values[x.Offset(i)] +=
        grad.values[grad.Offset(o)] * y.values[y.Offset(j)];
  });
  return x;
}
inline Array MatmulYGrad(const MatmulCase& c,
                         const Array& grad,
                         const Array& x) {
  Array y(c.y);
  ForEachMatmulTerm(c, [&](const auto& o, const auto& i, const auto& j) {
    y.values[y.Offset(j)] +=
        grad.values[grad.Offset(o)] * x.values[x.Offset(i)];
  });
  return y;
}

}  // namespace sluice::testing
