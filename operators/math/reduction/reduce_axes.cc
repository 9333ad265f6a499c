#include "sluice/operators/math/reduction/reduce_axes.h"

#include <algorithm>

namespace sluice {

int64_t StridedAxes::count() const {
  int64_t count = 1;
  for (int axis = 0; axis < rank; ++axis) {
    count *= sizes[axis];
  }
  return count;
}

StridedWalk::StridedWalk(const StridedAxes& axes, int64_t start) : axes_(axes) {
  for (int axis = axes.rank - 1; axis >= 0; --axis) {
    index_[axis] = start % axes.sizes[axis];
    start /= axes.sizes[axis];
    offset_ += index_[axis] * axes.steps[axis];
  }
}

namespace {

void PushAxis(StridedAxes* axes, int64_t size, int64_t step) {
  axes->sizes[axes->rank] = size;
  axes->steps[axes->rank] = step;
  ++axes->rank;
}

void Reverse(StridedAxes* axes) {
  std::reverse(axes->sizes.begin(), axes->sizes.begin() + axes->rank);
  std::reverse(axes->steps.begin(), axes->steps.begin() + axes->rank);
}

}  // namespace

ReduceAxes SortAxes(const DDim& x,
                    const std::array<bool, DDim::kMaxRank>& reduced) {
  ReduceAxes sorted;
  DDim out;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (!reduced[axis]) out.InsertDim(out.rank(), x[axis]);
  }
  sorted.outputs = out.numel();
  if (x.numel() == 0) return sorted;
  sorted.terms = x.numel() / sorted.outputs;

  bool in_row = true;
  bool last_reduced = true;
  int64_t step = 1;
  for (int axis = x.rank() - 1; axis >= 0; --axis) {
    if (x[axis] == 1) continue;
    if (step == 1 && in_row) sorted.row_reduced = last_reduced = reduced[axis];
    in_row = in_row && reduced[axis] == sorted.row_reduced;
    StridedAxes* axes = reduced[axis] ? &sorted.reduced : &sorted.kept;
    if (in_row) {
      sorted.row_size *= x[axis];
    } else if (reduced[axis] == last_reduced) {
      axes->sizes[axes->rank - 1] *= x[axis];
    } else {
      PushAxis(axes, x[axis], step);
    }
    last_reduced = reduced[axis];
    step *= x[axis];
  }
  Reverse(&sorted.kept);
  Reverse(&sorted.reduced);
  return sorted;
}

}  // namespace sluice
