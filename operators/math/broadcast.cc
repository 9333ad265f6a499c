#include "sluice/operators/math/broadcast.h"

#include <algorithm>

namespace sluice {

namespace {

// Two shapes, padded with leading ones to the same rank.
struct Aligned {
  int rank = 0;
  std::array<int64_t, DDim::kMaxRank> x;
  std::array<int64_t, DDim::kMaxRank> y;
};

Aligned Align(const DDim& x, const DDim& y, int64_t axis) {
  Aligned aligned;
  aligned.rank = std::max(x.rank(), y.rank());
  aligned.x.fill(1);
  aligned.y.fill(1);
  std::copy(x.begin(), x.end(), aligned.x.begin() + (aligned.rank - x.rank()));
  const int64_t y_begin = axis == -1 ? aligned.rank - y.rank() : axis;
  std::copy(y.begin(), y.end(), aligned.y.begin() + y_begin);
  return aligned;
}

}  // namespace

int BroadcastShape(const DDim& x, const DDim& y, int64_t axis, DDim* result) {
  const Aligned aligned = Align(x, y, axis);
  int conflict = -1;
  *result = DDim();
  for (int i = 0; i < aligned.rank; ++i) {
    const int64_t a = aligned.x[i];
    const int64_t b = aligned.y[i];
    // Unknown and 1 result in unknown; unknown and n != 1 have to be equal.
    const bool take_b = a == 1 || (a == kUnknownDim && b != 1);
    const bool fits =
        a == b || a == 1 || b == 1 || a == kUnknownDim || b == kUnknownDim;
    if (!fits && conflict < 0) conflict = i;
    result->InsertDim(i, take_b ? b : a);
  }
  return conflict;
}

int64_t BroadcastPlan::row_count() const {
  int64_t count = 1;
  for (int axis = 0; axis < rank - 1; ++axis) {
    count *= sizes[axis];
  }
  return count;
}

BroadcastPlan PlanBroadcast(const DDim& x, const DDim& y, int64_t axis) {
  const Aligned aligned = Align(x, y, axis);
  BroadcastPlan plan;
  plan.rank = 0;
  int64_t x_step = 1;
  int64_t y_step = 1;
  // Axes are collected innermost first and reversed at the end.
  for (int i = aligned.rank - 1; i >= 0; --i) {
    const int64_t a = aligned.x[i];
    const int64_t b = aligned.y[i];
    const int64_t size = a == 1 ? b : a;
    if (size == 1) continue;
    const int64_t own_x = a == 1 ? 0 : x_step;
    const int64_t own_y = b == 1 ? 0 : y_step;
    x_step *= a;
    y_step *= b;
    const int last = plan.rank - 1;
    if (last >= 0 && own_x == plan.x_steps[last] * plan.sizes[last] &&
        own_y == plan.y_steps[last] * plan.sizes[last]) {
      plan.sizes[last] *= size;
      continue;
    }
    plan.sizes[plan.rank] = size;
    plan.x_steps[plan.rank] = own_x;
    plan.y_steps[plan.rank] = own_y;
    ++plan.rank;
  }
  if (plan.rank == 0) return BroadcastPlan();
  std::reverse(plan.sizes.begin(), plan.sizes.begin() + plan.rank);
  std::reverse(plan.x_steps.begin(), plan.x_steps.begin() + plan.rank);
  std::reverse(plan.y_steps.begin(), plan.y_steps.begin() + plan.rank);
  return plan;
}

std::array<bool, DDim::kMaxRank> RepeatedAxes(const DDim& operand,
                                              const DDim& out,
                                              int64_t axis) {
  const Aligned aligned = Align(out, operand, axis);
  std::array<bool, DDim::kMaxRank> repeated{};
  for (int i = 0; i < aligned.rank; ++i) {
    repeated[i] = aligned.y[i] == 1 && aligned.x[i] != 1;
  }
  return repeated;
}

}  // namespace sluice
