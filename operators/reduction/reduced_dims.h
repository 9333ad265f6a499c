#pragma once

#include <array>

#include "sluice/framework/values/ddim.h"
#include "sluice/operators/math/reduction/reduce_axes.h"
#include "sluice/operators/registration.h"

namespace sluice {

// The dims that a reduction's attributes name. The shape function has already
// checked them.
class ReducedDims {
 public:
  using Axes = std::array<bool, DDim::kMaxRank>;

  // `op` is an OpKernelConstruction or a KernelQuery.
  template <typename Op>
  explicit ReducedDims(const Op& op)
      : dim_(op.template Attr<std::vector<int64_t>>("dim")),
        all_(op.template Attr<bool>("reduce_all") || dim_.empty()) {}

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

// The work of a reduction: row by row where the last dims are reduced.
inline KernelWork ReductionWork(const KernelQuery& query) {
  const DDim& x = query.inputs[0];
  KernelWork work = DefaultKernelWork(query);
  work.terms = static_cast<double>(x.numel());
  const ReduceAxes axes = SortAxes(x, ReducedDims(query).Of(x));
  if (axes.row_reduced) {
    work.rows = work.terms / static_cast<double>(axes.row_size);
  }
  work.outputs = static_cast<double>(axes.outputs);
  return work;
}

}  // namespace sluice
