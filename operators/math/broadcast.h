#pragma once

#include <array>
#include <cstdint>

#include "sluice/framework/values/ddim.h"
#include "sluice/platform/export.h"

namespace sluice {

// In the functions below, `axis` is the dimension of x that the first dimension
// of y is aligned with, as in Fluid. -1 aligns the last dimensions, as in
// NumPy. Aligned sizes must be equal, or one of them 1, which is broadcast.

// Computes the common shape. Unknown sizes are allowed. Returns the axis of the
// result at which the shapes conflict, or -1 if they fit. An `axis` other than
// -1 requires rank(y) + axis <= rank(x).
SLUICE_API int BroadcastShape(const DDim& x,
                              const DDim& y,
                              int64_t axis,
                              DDim* result);

// The loops of a broadcast: at least one axis, outermost first. Compatible
// adjacent axes are fused. A broadcast input has step 0.
struct SLUICE_API BroadcastPlan {
  int rank = 1;
  std::array<int64_t, DDim::kMaxRank> sizes{1};
  std::array<int64_t, DDim::kMaxRank> x_steps{1};
  std::array<int64_t, DDim::kMaxRank> y_steps{1};

  int64_t row_size() const { return sizes[rank - 1]; }
  int64_t row_count() const;
};

// Both shapes must be known and fit.
SLUICE_API BroadcastPlan PlanBroadcast(const DDim& x,
                                       const DDim& y,
                                       int64_t axis);

// Returns the axes of `out` along which an operand, aligned at `axis`, is
// broadcast. Its gradient is the gradient of `out` summed over these axes.
SLUICE_API std::array<bool, DDim::kMaxRank> RepeatedAxes(const DDim& operand,
                                                         const DDim& out,
                                                         int64_t axis);

// Calls row(x_offset, y_offset, out_offset) for rows [begin, end) of the plan;
// offsets are in elements.
template <typename Row>
void ForEachRow(const BroadcastPlan& plan,
                int64_t begin,
                int64_t end,
                const Row& row) {
  std::array<int64_t, DDim::kMaxRank> index{};
  int64_t x = 0;
  int64_t y = 0;
  int64_t rest = begin;
  for (int axis = plan.rank - 2; axis >= 0; --axis) {
    index[axis] = rest % plan.sizes[axis];
    rest /= plan.sizes[axis];
    x += index[axis] * plan.x_steps[axis];
    y += index[axis] * plan.y_steps[axis];
  }
  for (int64_t i = begin; i < end; ++i) {
    row(x, y, i * plan.row_size());
    for (int axis = plan.rank - 2; axis >= 0; --axis) {
      x += plan.x_steps[axis];
      y += plan.y_steps[axis];
      if (++index[axis] < plan.sizes[axis]) break;
      x -= plan.sizes[axis] * plan.x_steps[axis];
      y -= plan.sizes[axis] * plan.y_steps[axis];
      index[axis] = 0;
    }
  }
}

}  // namespace sluice
