#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "sluice/framework/values/ddim.h"
#include "sluice/platform/export.h"

namespace sluice {

// Dimensions of a dense tensor and their strides in elements, outermost first.
struct StridedAxes {
  int rank = 0;
  std::array<int64_t, DDim::kMaxRank> sizes{};
  std::array<int64_t, DDim::kMaxRank> steps{};

  int64_t count() const;
};

// Iterates over the elements of StridedAxes, from element `start` on.
class StridedWalk {
 public:
  StridedWalk(const StridedAxes& axes, int64_t start);

  int64_t offset() const { return offset_; }

  void Next() {
    for (int axis = axes_.rank - 1; axis >= 0; --axis) {
      offset_ += axes_.steps[axis];
      if (++index_[axis] < axes_.sizes[axis]) return;
      offset_ -= axes_.sizes[axis] * axes_.steps[axis];
      index_[axis] = 0;
    }
  }

 private:
  const StridedAxes& axes_;
  std::array<int64_t, DDim::kMaxRank> index_{};
  int64_t offset_ = 0;
};

// How to reduce a dense tensor over some of its dimensions. The innermost
// dimension and adjacent ones of its kind form rows of consecutive elements.
// The other dimensions are either kept or reduced.
struct ReduceAxes {
  StridedAxes kept;
  StridedAxes reduced;
  bool row_reduced = true;
  int64_t row_size = 1;
  int64_t outputs = 1;
  // The terms of one output. If the tensor is empty, this is 0 and only
  // `outputs` is set besides.
  int64_t terms = 0;
};

// Sorts the dimensions of `x`, which is known. Dimensions with reduced[axis]
// set are reduced.
SLUICE_API ReduceAxes SortAxes(const DDim& x,
                               const std::array<bool, DDim::kMaxRank>& reduced);

}  // namespace sluice
