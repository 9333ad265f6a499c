#pragma once

#include <string_view>

#include "sluice/framework/op/infer_shape_context.h"

namespace sluice {

// For shape functions of sparse gradients: returns input `rows` [N, ...], each
// of which belongs to the row of input `whole` [V, ...] that input Rows [N]
// names. Raises InvalidArgument where the three do not fit.
inline ShapeHandle SparseRowsOf(const InferShapeContext& context,
                                std::string_view rows,
                                std::string_view whole) {
  ShapeHandle few = context.WithRankAtLeast(context.input(rows), 1);
  const ShapeHandle numbers = context.WithRank(context.input("Rows"), 1);
  const ShapeHandle all = context.WithRankAtLeast(context.input(whole), 1);
  if (!few.dims.rank_known()) return few;
  few.dims[0] =
      context.Merge(context.Dim(few, 0), context.Dim(numbers, 0)).size;
  bool fits = true;
  if (all.dims.rank_known()) {
    fits = few.dims.rank() == all.dims.rank();
    for (int axis = 1; fits && axis < few.dims.rank(); ++axis) {
      fits = few.dims[axis] < 0 || all.dims[axis] < 0 ||
             few.dims[axis] == all.dims[axis];
    }
  }
  context.Require(fits, "sparse_rows.sizes",
                  "input {} {} must have rows as those of input {} {}", rows,
                  few.dims, whole, all.dims);
  return few;
}

}  // namespace sluice
