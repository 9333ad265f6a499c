#pragma once

#include <array>

#include "sluice/framework/values/ddim.h"
#include "sluice/operators/registration.h"

namespace sluice {

// The dims that a reduction's attributes name. The shape function has already
// checked them.
class ReducedDims {
 public:
  using Axes = std::array<bool, DDim::kMaxRank>;

  explicit ReducedDims(const OpKernelConstruction& construction)
      : dim_(construction.Attr<std::vector<int64_t>>("dim")),
        all_(construction.Attr<bool>("reduce_all") || dim_.empty()) {}

  Axes Of(const DDim& x) const {
    Axes reduced{};
    if (all_) reduced.fill(true);
    for (const int64_t axis : dim_) {
      if (!all_) reduced[axis < 0 ? axis + x.rank() : axis] = true;
    }
    return reduced;
  }

  // Returns X's shape with size 1 for reduced dims.
  DDim Kept(const DDim& x) const {
    DDim kept = x;
    const Axes reduced = Of(x);
    for (int axis = 0; axis < kept.rank(); ++axis) {
      if (reduced[axis]) kept[axis] = 1;
    }
    return kept;
  }

 private:
  std::vector<int64_t> dim_;
  bool all_;
};

}  // namespace sluice
