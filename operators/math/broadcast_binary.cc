#include "sluice/operators/math/broadcast_binary.h"

#include <algorithm>
#include <type_traits>

#include "sluice/operators/math/half_conversions.h"
#include "sluice/platform/parallel_for.h"

namespace sluice::operators::math {
namespace {

// Below this many elements waking a thread costs more than computing.
constexpr int64_t kGrain = 32768;

// What T is computed with; float and double go through elementwise.h.
template <typename T>
auto Operand(T value) {
  if constexpr (std::is_integral_v<T>) {
    // Small types would be promoted to int, whose products overflow.
    using Wide = std::conditional_t<(sizeof(T) < 4), uint32_t, T>;
    return static_cast<std::make_unsigned_t<Wide>>(value);
  } else {
    return Widen(value);
  }
}

template <BinaryOp kOp, typename T>
T Apply(T a, T b) {
  const auto x = Operand(a);
  const auto y = Operand(b);
  const auto store = [](auto value) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(value);
    } else {
      return Narrow<T>(value);
    }
  };
  if constexpr (kOp == BinaryOp::kAdd) {
    return store(x + y);
  } else if constexpr (kOp == BinaryOp::kSub) {
    return store(x - y);
  } else if constexpr (kOp == BinaryOp::kMul) {
    return store(x * y);
  } else if constexpr (!std::is_integral_v<T>) {
    return store(x / y);
  } else {
    return T{};  // no schema lets it come here
  }
}

// A row; one that is a single number has step 0.
template <BinaryOp kOp, typename T>
void RowOf(
    const T* x, int x_step, const T* y, int y_step, int64_t count, T* out) {
  for (int64_t i = 0; i < count; ++i) {
    out[i] = Apply<kOp>(x[i * x_step], y[i * y_step]);
  }
}

template <typename T>
void Row(BinaryOp op,
         const T* x,
         int x_step,
         const T* y,
         int y_step,
         int64_t count,
         T* out) {
  if constexpr (std::is_floating_point_v<T>) {
    if (x_step == 0) return BinaryContiguous(op, *x, y, count, out);
    if (y_step == 0) return BinaryContiguous(op, x, *y, count, out);
    return BinaryContiguous(op, x, y, count, out);
  }
  switch (op) {
    case BinaryOp::kAdd:
      return RowOf<BinaryOp::kAdd>(x, x_step, y, y_step, count, out);
    case BinaryOp::kSub:
      return RowOf<BinaryOp::kSub>(x, x_step, y, y_step, count, out);
    case BinaryOp::kMul:
      return RowOf<BinaryOp::kMul>(x, x_step, y, y_step, count, out);
    case BinaryOp::kDiv:
      return RowOf<BinaryOp::kDiv>(x, x_step, y, y_step, count, out);
  }
}

}  // namespace

template <typename T>
void BinarySame(BinaryOp op, const T* x, const T* y, int64_t count, T* out) {
  platform::ParallelFor(count, kGrain, [=](int64_t begin, int64_t end) {
    Row(op, x + begin, 1, y + begin, 1, end - begin, out + begin);
  });
}

template <typename T>
void BinaryBroadcast(
    BinaryOp op, const BroadcastPlan& plan, const T* x, const T* y, T* out) {
  const int64_t row = plan.row_size();
  const int x_step = plan.x_steps[plan.rank - 1] == 0 ? 0 : 1;
  const int y_step = plan.y_steps[plan.rank - 1] == 0 ? 0 : 1;
  if (plan.rank == 1) {
    platform::ParallelFor(row, kGrain, [=](int64_t begin, int64_t end) {
      Row(op, x + begin * x_step, x_step, y + begin * y_step, y_step,
          end - begin, out + begin);
    });
    return;
  }
  const auto compute = [=](int64_t x_at, int64_t y_at, int64_t out_at) {
    Row(op, x + x_at, x_step, y + y_at, y_step, row, out + out_at);
  };
  platform::ParallelFor(plan.row_count(), std::max<int64_t>(1, kGrain / row),
                        [&](int64_t begin, int64_t end) {
                          ForEachRow(plan, begin, end, compute);
                        });
}

#define SLUICE_BINARY(T)                                     \
  template SLUICE_API decltype(BinarySame<T>) BinarySame<T>; \
  template SLUICE_API decltype(BinaryBroadcast<T>) BinaryBroadcast<T>
SLUICE_BINARY(float);
SLUICE_BINARY(double);
SLUICE_BINARY(platform::float16);
SLUICE_BINARY(platform::bfloat16);
SLUICE_BINARY(int8_t);
SLUICE_BINARY(uint8_t);
SLUICE_BINARY(int32_t);
SLUICE_BINARY(int64_t);
#undef SLUICE_BINARY

}  // namespace sluice::operators::math
