#include "sluice/operators/math/reduction/repeat.h"

#include <algorithm>
#include <cstring>

#include "sluice/operators/math/fill.h"
#include "sluice/platform/dtype.h"
#include "sluice/platform/dtype_sets.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

constexpr int64_t kRepeatGrain = 32768;

template <typename T>
void RepeatRow(const T* y, bool one, int64_t count, T* out) {
  if (one) {
    FillContiguous(*y, count, out);
  } else {
    std::memcpy(out, y, static_cast<size_t>(count) * sizeof(T));
  }
}

}  // namespace

template <typename T>
void Repeat(const BroadcastPlan& plan, const T* y, T* out) {
  const int64_t row = plan.row_size();
  const bool one = plan.y_steps[plan.rank - 1] == 0;
  if (plan.rank == 1) {
    ParallelFor(row, kRepeatGrain, [=](int64_t begin, int64_t end) {
      RepeatRow(one ? y : y + begin, one, end - begin, out + begin);
    });
    return;
  }
  const auto repeat = [=](int64_t /*x_at*/, int64_t y_at, int64_t out_at) {
    RepeatRow(y + y_at, one, row, out + out_at);
  };
  ParallelFor(plan.row_count(), std::max<int64_t>(1, kRepeatGrain / row),
              [&](int64_t begin, int64_t end) {
                ForEachRow(plan, begin, end, repeat);
              });
}

SLUICE_INSTANTIATE_FLOATS_AND_HALVES(Repeat);

}  // namespace sluice
