#pragma once

#include <cstdint>

#include "sluice/framework/values/ddim.h"

// The slices of a tensor X that indices name: gather and scatter by elements
// and by coordinates have different plans. Shared by host and device code.
namespace sluice {

// Names `count` slices of X, which is [slices, inner]. Slice i has `named`
// indices from i * named on; index k is for a dim of X of size dims[k]. The
// rest follows from i as an index into a tensor of shape `sizes`.
struct IndexPlan {
  static constexpr int kMaxRank = DDim::kMaxRank;

  int64_t count = 0;
  int64_t slices = 0;
  int64_t inner = 1;
  // Steps are in slices of X.
  int named = 0;
  int64_t dims[kMaxRank] = {};
  int64_t dim_steps[kMaxRank] = {};
  int rank = 0;
  int64_t sizes[kMaxRank] = {};
  int64_t steps[kMaxRank] = {};
  // Only slices of the same line may be the same slice of X. Slice j of a line
  // is (line / within * length + j) * within + line % within. In a line,
  // numbers of slices of X differ by multiples of `spread`.
  int64_t length = 0;
  int64_t within = 1;
  int64_t spread = 1;

  constexpr int64_t lines() const { return length == 0 ? 0 : count / length; }
  constexpr int64_t InLine(int64_t line, int64_t j) const {
    return (line / within * length + j) * within + line % within;
  }

  // Returns the slice of X for slice i if all its indices were 0. Each index
  // times its step in `dim_steps` is added to it.
  constexpr int64_t First(int64_t i) const {
    int64_t at = 0, rest = i;
    for (int axis = rank - 1; axis >= 0; --axis) {
      at += rest % sizes[axis] * steps[axis];
      rest /= sizes[axis];
    }
    return at;
  }
  // Negative indices count from the end. An index that is out of range stays
  // so.
  static constexpr int64_t FromStart(int64_t index, int64_t size) {
    return index < 0 && index >= -size ? index + size : index;
  }
};

}  // namespace sluice
