#pragma once

#include <cstdint>

#include "sluice/framework/values/ddim.h"

// Where the slices of a tensor X lie that indices name: what gathering and
// scattering by elements and by coordinates differ in. Host and device code
// share it.
namespace sluice::operators::math {

// `count` slices of X, which is [slices, inner]. Slice i is named by indices
// i * named and on, of which number k is for a dim of X of size dims[k]; what
// is fixed by i itself is a walk over an index of shape `sizes`.
struct IndexPlan {
  static constexpr int kMaxRank = framework::DDim::kMaxRank;

  int64_t count = 0;
  int64_t slices = 0;
  int64_t inner = 1;
  // In slices of X.
  int named = 0;
  int64_t dims[kMaxRank] = {};
  int64_t dim_steps[kMaxRank] = {};
  int rank = 0;
  int64_t sizes[kMaxRank] = {};
  int64_t steps[kMaxRank] = {};
  // Two of the `count` slices are one of X only if they are of one line: slice
  // j of a line is (line / within * length + j) * within + line % within. In a
  // line, slices of X have numbers apart by multiples of `spread`.
  int64_t length = 0;
  int64_t within = 1;
  int64_t spread = 1;

  constexpr int64_t lines() const { return length == 0 ? 0 : count / length; }
  constexpr int64_t InLine(int64_t line, int64_t j) const {
    return (line / within * length + j) * within + line % within;
  }

  // The slice of X that slice i would be if its indices were 0. The sum of
  // this and of each index times its step in `dim_steps` is what it is.
  constexpr int64_t First(int64_t i) const {
    int64_t at = 0, rest = i;
    for (int axis = rank - 1; axis >= 0; --axis) {
      at += rest % sizes[axis] * steps[axis];
      rest /= sizes[axis];
    }
    return at;
  }
  // Negative indices count from the end; what is outside of a dim of X remains
  // so.
  static constexpr int64_t FromStart(int64_t index, int64_t size) {
    return index < 0 && index >= -size ? index + size : index;
  }
};

}  // namespace sluice::operators::math
