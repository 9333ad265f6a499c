#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "sluice/sluice.h"

// The Manhattan distance of every row of x [n, p] to every row of y [m, p] as
// graphs of small ops, float [n, m], for comparison with the op
// manhattan_distance. In a header because tests and ./dev bench table1 run
// them, too.
namespace examples {

// Raises std::invalid_argument unless both are matrices.
inline void RequireMatrices(const sluice::Var& x, const sluice::Var& y) {
  for (const sluice::Var* rows : {&x, &y}) {
    if (rows->dims().rank_known() && rows->dims().rank() == 2) continue;
    throw std::invalid_argument(
        "distances: expected two matrices, one point a row; " + rows->name() +
        " has the shape " + ToString(rows->dims()));
  }
}

// Subtracts every row of y from every row of x in one op, by broadcasting. The
// differences are n * m * p elements in memory.
inline sluice::Var BroadcastDistance(const sluice::Var& x,
                                     const sluice::Var& y) {
  namespace ops = sluice::ops;
  RequireMatrices(x, y);
  const auto difference =
      ops::ElementwiseSub(ops::Unsqueeze(x, {1}), ops::Unsqueeze(y, {0}));
  return ops::ReduceSum(ops::Abs(difference), {.dim = {-1}});
}

// Five ops for each of the n * m distances: both rows, their difference, its
// absolute values and their sum. Needs n and m, both above 0, while the graph
// is built; raises std::invalid_argument otherwise.
inline sluice::Var LoopDistance(const sluice::Var& x, const sluice::Var& y) {
  namespace ops = sluice::ops;
  RequireMatrices(x, y);
  const int64_t n = x.dims()[0], m = y.dims()[0];
  if (n < 1 || m < 1) {
    throw std::invalid_argument(
        "distances as a loop: expected known numbers of rows, at least 1; "
        "got " +
        ToString(x.dims()) + " and " + ToString(y.dims()));
  }
  std::vector<sluice::Var> rows;
  for (int64_t i = 0; i < n; ++i) {
    std::vector<sluice::Var> row;
    for (int64_t j = 0; j < m; ++j) {
      const auto difference =
          ops::ElementwiseSub(ops::Slice(x, {i}, {i + 1}, {.axes = {0}}),
                              ops::Slice(y, {j}, {j + 1}, {.axes = {0}}));
      row.push_back(ops::ReduceSum(ops::Abs(difference),
                                   {.dim = {-1}, .keep_dim = true}));
    }
    rows.push_back(ops::Concat(row, {.axis = 1}));
  }
  return ops::Concat(rows, {.axis = 0});
}

}  // namespace examples
