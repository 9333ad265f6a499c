#include "sluice/operators/math/binary/broadcast_binary.h"

#include <algorithm>
#include <bit>

#include "sluice/operators/math/half_conversions.h"
#include "sluice/platform/parallel_for.h"

namespace sluice::operators::math {
namespace {

using platform::DType;

// Below this many elements waking a thread costs more than computing.
constexpr int64_t kGrain = 32768;
// Halves that are converted at a time.
constexpr int64_t kHalfBlock = 256;

bool IsHalf(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}

// A piece of a row of the walk: where it begins in each tensor, in elements.
struct Piece {
  int64_t x;
  int64_t y;
  int64_t out;
  int64_t count;
};

// How the two operands are repeated along the rows of a walk.
enum class Sides : uint8_t { kBoth, kLeft, kRight };

Sides SidesOf(const BroadcastPlan& plan) {
  if (plan.x_steps[plan.rank - 1] == 0) return Sides::kLeft;
  return plan.y_steps[plan.rank - 1] == 0 ? Sides::kRight : Sides::kBoth;
}

template <typename Loop>
Loop LoopOf(const LoopsOfTwo<Loop>& loops, Sides sides) {
  return sides == Sides::kBoth   ? loops.both
         : sides == Sides::kLeft ? loops.left
                                 : loops.right;
}

// Calls compute(piece) for the whole walk, on many threads.
template <typename Compute>
void ForEachPiece(const BroadcastPlan& plan, const Compute& compute) {
  const int64_t row = plan.row_size();
  if (plan.rank == 1) {
    const int64_t x_step = plan.x_steps[0] == 0 ? 0 : 1;
    const int64_t y_step = plan.y_steps[0] == 0 ? 0 : 1;
    platform::ParallelFor(row, kGrain, [&](int64_t begin, int64_t end) {
      compute({begin * x_step, begin * y_step, begin, end - begin});
    });
    return;
  }
  platform::ParallelFor(plan.row_count(), std::max<int64_t>(1, kGrain / row),
                        [&](int64_t begin, int64_t end) {
                          ForEachRow(plan, begin, end,
                                     [&](int64_t x, int64_t y, int64_t out) {
                                       compute({x, y, out, row});
                                     });
                        });
}

void WidenFloat16(const void* from, int64_t count, float* to) {
  const auto* values = static_cast<const platform::float16*>(from);
  for (int64_t i = 0; i < count; ++i) {
    to[i] = math::Widen(values[i]);
  }
}
void NarrowToFloat16(const float* from, int64_t count, void* to) {
  auto* values = static_cast<platform::float16*>(to);
  for (int64_t i = 0; i < count; ++i) {
    values[i] = math::Narrow<platform::float16>(from[i]);
  }
}

// As math::Widen and math::Narrow do, written so that the compiler makes
// vectors of it.
void WidenBFloat16(const void* from, int64_t count, float* to) {
  const auto* values = static_cast<const uint16_t*>(from);
  for (int64_t i = 0; i < count; ++i) {
    to[i] = std::bit_cast<float>(uint32_t{values[i]} << 16);
  }
}
void NarrowToBFloat16(const float* from, int64_t count, void* to) {
  constexpr int32_t kInfinity = 0x7F800000;
  auto* values = static_cast<uint16_t*>(to);
  for (int64_t i = 0; i < count; ++i) {
    const auto bits = std::bit_cast<uint32_t>(from[i]);
    const uint32_t rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
    const uint32_t nan = (bits >> 16 & 0x8000) | 0x7FC0;
    const bool is_nan = static_cast<int32_t>(bits & 0x7FFFFFFF) > kInfinity;
    values[i] = static_cast<uint16_t>(is_nan ? nan : rounded);
  }
}

void Widen(DType dtype, const void* from, int64_t count, float* to) {
  if (dtype == DType::kFloat16) {
    WidenFloat16(from, count, to);
  } else {
    WidenBFloat16(from, count, to);
  }
}
void Narrow(DType dtype, const float* from, int64_t count, void* to) {
  if (dtype == DType::kFloat16) {
    NarrowToFloat16(from, count, to);
  } else {
    NarrowToBFloat16(from, count, to);
  }
}

// nullptr stays what it is.
const char* At(const void* from, int64_t element, int64_t size) {
  return from == nullptr ? nullptr
                         : static_cast<const char*>(from) + element * size;
}
char* At(void* to, int64_t element, int64_t size) {
  return static_cast<char*>(to) + element * size;
}

// Halves of an operand as floats, block by block; one that is repeated is
// converted once. Of nullptr there are none.
class HalfOperand {
 public:
  HalfOperand(DType dtype, const void* from, bool single)
      : dtype_(dtype), from_(from), single_(single) {
    if (from_ != nullptr && single_) Widen(dtype_, from_, 1, values_);
  }
  const float* Block(int64_t at, int64_t count) {
    if (from_ != nullptr && !single_) {
      Widen(dtype_, At(from_, at, sizeof(uint16_t)), count, values_);
    }
    return values_;
  }

 private:
  DType dtype_;
  const void* from_;
  bool single_;
  float values_[kHalfBlock];
};

}  // namespace

DType ComputedDType(DType dtype) {
  return IsHalf(dtype) ? DType::kFloat32 : dtype;
}

BinaryFunction::BinaryFunction(const BinaryRow& row, DType dtype)
    : loops_(row.Of(ComputedDType(dtype)).forward),
      dtype_(dtype),
      size_(static_cast<int64_t>(platform::SizeOf(dtype))),
      out_size_(row.info.result == BinaryResult::kBool ? 1 : size_) {}

void BinaryFunction::Same(const void* x,
                          const void* y,
                          int64_t count,
                          void* out) const {
  if (!IsHalf(dtype_) && count <= kGrain) return loops_.both(x, y, count, out);
  platform::ParallelFor(count, kGrain, [&](int64_t begin, int64_t end) {
    Run(loops_.both, At(x, begin, size_), At(y, begin, size_), end - begin,
        At(out, begin, out_size_));
  });
}

void BinaryFunction::Broadcast(const BroadcastPlan& plan,
                               const void* x,
                               const void* y,
                               void* out) const {
  const auto loop = LoopOf(loops_, SidesOf(plan));
  ForEachPiece(plan, [&](const Piece& piece) {
    Run(loop, At(x, piece.x, size_), At(y, piece.y, size_), piece.count,
        At(out, piece.out, out_size_));
  });
}

void BinaryFunction::Run(decltype(BinaryLoops::both) loop,
                         const void* x,
                         const void* y,
                         int64_t count,
                         void* out) const {
  if (!IsHalf(dtype_)) return loop(x, y, count, out);
  HalfOperand left(dtype_, x, loop == loops_.left);
  HalfOperand right(dtype_, y, loop == loops_.right);
  float results[kHalfBlock];
  for (int64_t at = 0; at < count; at += kHalfBlock) {
    const int64_t block = std::min(kHalfBlock, count - at);
    const float* a = left.Block(at, block);
    const float* b = right.Block(at, block);
    if (out_size_ == size_) {
      loop(a, b, block, results);
      Narrow(dtype_, results, block, At(out, at, out_size_));
    } else {
      loop(a, b, block, At(out, at, out_size_));
    }
  }
}

void BinaryGradFunction::Terms(const BroadcastPlan& plan,
                               const void* out_grad,
                               const void* x,
                               const void* y,
                               const void* out,
                               void* terms) const {
  const Sides sides = SidesOf(plan);
  const auto loop = LoopOf(loops_, sides);
  const auto size = static_cast<int64_t>(platform::SizeOf(dtype_));
  if (!IsHalf(dtype_)) {
    return ForEachPiece(plan, [&](const Piece& piece) {
      loop(At(out_grad, piece.out, size), At(x, piece.x, size),
           At(y, piece.y, size), At(out, piece.out, size), piece.count,
           At(terms, piece.out, size));
    });
  }
  ForEachPiece(plan, [&](const Piece& piece) {
    HalfOperand grads(dtype_, At(out_grad, piece.out, size), false);
    HalfOperand left(dtype_, At(x, piece.x, size), sides == Sides::kLeft);
    HalfOperand right(dtype_, At(y, piece.y, size), sides == Sides::kRight);
    HalfOperand outs(dtype_, At(out, piece.out, size), false);
    float results[kHalfBlock];
    for (int64_t at = 0; at < piece.count; at += kHalfBlock) {
      const int64_t count = std::min(kHalfBlock, piece.count - at);
      loop(grads.Block(at, count), left.Block(at, count),
           right.Block(at, count), outs.Block(at, count), count, results);
      Narrow(dtype_, results, count, At(terms, piece.out + at, size));
    }
  });
}

}  // namespace sluice::operators::math
