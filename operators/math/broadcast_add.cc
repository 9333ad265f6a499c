#include "sluice/operators/math/broadcast_add.h"

#include <algorithm>
#include <bit>
#include <type_traits>

#include <Eigen/Core>

#include "sluice/operators/math/elementwise.h"
#include "sluice/platform/dtype.h"
#include "sluice/platform/parallel_for.h"

namespace sluice::operators::math {
namespace {

// Below this many elements waking a thread costs more than adding.
constexpr int64_t kGrain = 32768;

// float and double go through elementwise.h.
template <typename T>
T Sum(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
  } else if constexpr (std::is_same_v<T, platform::float16>) {
    return std::bit_cast<T>(std::bit_cast<Eigen::half>(a) +
                            std::bit_cast<Eigen::half>(b));
  } else {
    return std::bit_cast<T>(std::bit_cast<Eigen::bfloat16>(a) +
                            std::bit_cast<Eigen::bfloat16>(b));
  }
}

template <typename T>
void AddRow(const T* x, const T* y, int64_t count, T* out) {
  if constexpr (std::is_floating_point_v<T>) {
    AddContiguous(x, y, count, out);
  } else {
    for (int64_t i = 0; i < count; ++i) {
      out[i] = Sum(x[i], y[i]);
    }
  }
}

template <typename T>
void AddOne(const T* x, T y, int64_t count, T* out) {
  if constexpr (std::is_floating_point_v<T>) {
    ScaleContiguous(x, T{1}, y, count, out);
  } else {
    for (int64_t i = 0; i < count; ++i) {
      out[i] = Sum(x[i], y);
    }
  }
}

}  // namespace

template <typename T>
void AddSame(const T* x, const T* y, int64_t count, T* out) {
  platform::ParallelFor(count, kGrain, [=](int64_t begin, int64_t end) {
    AddRow(x + begin, y + begin, end - begin, out + begin);
  });
}

template <typename T>
void AddBroadcast(const BroadcastPlan& plan, const T* x, const T* y, T* out) {
  const int64_t row = plan.row_size();
  const bool one_x = plan.x_steps[plan.rank - 1] == 0;
  const bool one_y = plan.y_steps[plan.rank - 1] == 0;
  const auto add = [=](int64_t x_at, int64_t y_at, int64_t out_at) {
    if (one_x) {
      AddOne(y + y_at, x[x_at], row, out + out_at);
    } else if (one_y) {
      AddOne(x + x_at, y[y_at], row, out + out_at);
    } else {
      AddRow(x + x_at, y + y_at, row, out + out_at);
    }
  };
  if (plan.rank == 1 && !one_x && !one_y) return AddSame(x, y, row, out);
  platform::ParallelFor(
      plan.row_count(), std::max<int64_t>(1, kGrain / row),
      [&](int64_t begin, int64_t end) { ForEachRow(plan, begin, end, add); });
}

template void AddSame(const float*, const float*, int64_t, float*);
template void AddSame(const double*, const double*, int64_t, double*);
template void AddSame(const platform::float16*,
                      const platform::float16*,
                      int64_t,
                      platform::float16*);
template void AddSame(const platform::bfloat16*,
                      const platform::bfloat16*,
                      int64_t,
                      platform::bfloat16*);
template void AddSame(const int8_t*, const int8_t*, int64_t, int8_t*);
template void AddSame(const uint8_t*, const uint8_t*, int64_t, uint8_t*);
template void AddSame(const int32_t*, const int32_t*, int64_t, int32_t*);
template void AddSame(const int64_t*, const int64_t*, int64_t, int64_t*);

template void AddBroadcast(const BroadcastPlan&,
                           const float*,
                           const float*,
                           float*);
template void AddBroadcast(const BroadcastPlan&,
                           const double*,
                           const double*,
                           double*);
template void AddBroadcast(const BroadcastPlan&,
                           const platform::float16*,
                           const platform::float16*,
                           platform::float16*);
template void AddBroadcast(const BroadcastPlan&,
                           const platform::bfloat16*,
                           const platform::bfloat16*,
                           platform::bfloat16*);
template void AddBroadcast(const BroadcastPlan&,
                           const int8_t*,
                           const int8_t*,
                           int8_t*);
template void AddBroadcast(const BroadcastPlan&,
                           const uint8_t*,
                           const uint8_t*,
                           uint8_t*);
template void AddBroadcast(const BroadcastPlan&,
                           const int32_t*,
                           const int32_t*,
                           int32_t*);
template void AddBroadcast(const BroadcastPlan&,
                           const int64_t*,
                           const int64_t*,
                           int64_t*);

}  // namespace sluice::operators::math
