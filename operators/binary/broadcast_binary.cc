#include "sluice/operators/binary/broadcast_binary.h"

#include <algorithm>
#include <bit>

#include "sluice/operators/math/conversion/half_loops.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

// With fewer elements, waking a thread costs more than computing.
// The elements that are converted at a time, for dtypes that are computed in
// another one.
constexpr int64_t kBlock = 256;
constexpr size_t kBlockBytes = kBlock * sizeof(uint64_t);

bool IsConverted(DType dtype) {
  return ComputedDType(dtype) != dtype;
}

// A contiguous piece of a row: its offsets in the tensors, in elements.
struct Piece {
  int64_t x;
  int64_t y;
  int64_t out;
  int64_t count;
};

// Which operands vary along the rows of a plan.
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

// Calls compute(piece) for all pieces of the plan, in parallel.
template <typename Compute>
void ForEachPiece(const BroadcastPlan& plan, const Compute& compute) {
  const int64_t row = plan.row_size();
  if (plan.rank == 1) {
    const int64_t x_step = plan.x_steps[0] == 0 ? 0 : 1;
    const int64_t y_step = plan.y_steps[0] == 0 ? 0 : 1;
    ParallelFor(row, kGrain, [&](int64_t begin, int64_t end) {
      compute({begin * x_step, begin * y_step, begin, end - begin});
    });
    return;
  }
  ParallelFor(plan.row_count(), std::max<int64_t>(1, kGrain / row),
              [&](int64_t begin, int64_t end) {
                ForEachRow(plan, begin, end,
                           [&](int64_t x, int64_t y, int64_t out) {
                             compute({x, y, out, row});
                           });
              });
}

// Computes like Widen and Narrow, in a form that compilers
// vectorize.
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

// Conversion to a narrower integer keeps the lower bits.
template <typename To, typename From>
void ConvertIntegers(const void* from, int64_t count, void* to) {
  const auto* values = static_cast<const From*>(from);
  auto* results = static_cast<To*>(to);
  for (int64_t i = 0; i < count; ++i) {
    results[i] = static_cast<To>(values[i]);
  }
}

// Converts to the dtype that `dtype` is computed in, and back.
void WidenBlock(DType dtype, const void* from, int64_t count, void* to) {
  switch (dtype) {
    case DType::kFloat16:
      return WidenHalves(static_cast<const float16*>(from), count,
                         static_cast<float*>(to));
    case DType::kBFloat16:
      return WidenBFloat16(from, count, static_cast<float*>(to));
    case DType::kInt16:
      return ConvertIntegers<int32_t, int16_t>(from, count, to);
    case DType::kUInt16:
      return ConvertIntegers<int32_t, uint16_t>(from, count, to);
    default:
      return ConvertIntegers<int64_t, uint32_t>(from, count, to);
  }
}
void NarrowBlock(DType dtype, const void* from, int64_t count, void* to) {
  switch (dtype) {
    case DType::kFloat16:
      return NarrowToHalves(static_cast<const float*>(from), count,
                            static_cast<float16*>(to));
    case DType::kBFloat16:
      return NarrowToBFloat16(static_cast<const float*>(from), count, to);
    case DType::kInt16:
    case DType::kUInt16:
      return ConvertIntegers<uint16_t, int32_t>(from, count, to);
    default:
      return ConvertIntegers<uint32_t, int64_t>(from, count, to);
  }
}

// Returns nullptr for nullptr.
const char* At(const void* from, int64_t element, int64_t size) {
  return from == nullptr ? nullptr
                         : static_cast<const char*>(from) + element * size;
}
char* At(void* to, int64_t element, int64_t size) {
  return static_cast<char*>(to) + element * size;
}

// Returns blocks of an operand, converted to the dtype that it is computed in.
// A repeated number is converted once. Nothing is converted for nullptr.
class ConvertedOperand {
 public:
  ConvertedOperand(DType dtype, const void* from, bool single)
      : dtype_(dtype),
        size_(static_cast<int64_t>(SizeOf(dtype))),
        from_(from),
        single_(single) {
    if (from_ != nullptr && single_) WidenBlock(dtype_, from_, 1, values_);
  }
  const void* Block(int64_t at, int64_t count) {
    if (from_ != nullptr && !single_) {
      WidenBlock(dtype_, At(from_, at, size_), count, values_);
    }
    return values_;
  }

 private:
  DType dtype_;
  int64_t size_;
  const void* from_;
  bool single_;
  alignas(uint64_t) char values_[kBlockBytes];
};

constexpr int64_t kShortRow = 16;  // elements

// Blocks of rows of an operand, which are copied unless they are contiguous.
// Those of one that all rows share are copied once.
class RowsOfOperand {
 public:
  RowsOfOperand(const BroadcastPlan& plan,
                const std::array<int64_t, DDim::kMaxRank>& steps,
                const void* from,
                int64_t element_size)
      : size_(element_size),
        row_(plan.row_size()),
        step_(steps[plan.rank - 1]),
        from_(static_cast<const char*>(from)) {
    int64_t contiguous = 1;
    for (int axis = plan.rank - 1; axis >= 0; --axis) {
      is_whole_ = is_whole_ && steps[axis] == contiguous;
      is_shared_ = is_shared_ && (axis == plan.rank - 1 || steps[axis] == 0);
      contiguous *= plan.sizes[axis];
    }
  }

  // Begins a block at row `i` of the output.
  void Begin(int64_t i) {
    if (is_whole_) data_ = from_ + i * row_ * size_;
    if (!is_shared_) filled_ = 0;
    row_in_block_ = 0;
  }
  void Add(int64_t at) {
    if (is_whole_ || row_in_block_++ < filled_) return;
    const char* const from = from_ + at * size_;
    switch (size_) {
      case 1:
        Copy<uint8_t>(from);
        break;
      case 2:
        Copy<uint16_t>(from);
        break;
      case 4:
        Copy<uint32_t>(from);
        break;
      default:
        Copy<uint64_t>(from);
    }
    ++filled_;
  }
  const char* data() const { return data_; }

 private:
  template <typename Unit>
  void Copy(const char* from) {
    const auto* elements = reinterpret_cast<const Unit*>(from);
    auto* to = reinterpret_cast<Unit*>(values_) + filled_ * row_;
    for (int64_t j = 0; j < row_; ++j) {
      to[j] = elements[j * step_];
    }
  }

  int64_t size_;
  int64_t row_;
  int64_t step_;
  const char* from_;
  bool is_whole_ = true;
  bool is_shared_ = true;
  int64_t filled_ = 0;        // rows in values_
  int64_t row_in_block_ = 0;  // rows of this block so far
  alignas(64) char values_[kBlockBytes];
  const char* data_ = values_;
};

}  // namespace

DType ComputedDType(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
    case DType::kBFloat16:
      return DType::kFloat32;
    case DType::kInt16:
    case DType::kUInt16:
      return DType::kInt32;
    case DType::kUInt32:
      return DType::kInt64;
    default:
      return dtype;
  }
}

BinaryFunction::BinaryFunction(const BinaryRow& row, DType dtype)
    : loops_(row.Of(ComputedDType(dtype)).forward),
      dtype_(dtype),
      size_(static_cast<int64_t>(SizeOf(dtype))),
      out_size_(row.info.result == BinaryResult::kBool ? 1 : size_) {}

void BinaryFunction::Same(const void* x,
                          const void* y,
                          int64_t count,
                          void* out) const {
  if (!IsConverted(dtype_) && count <= kGrain) {
    return loops_.both(x, y, count, out);
  }
  ParallelFor(count, kGrain, [&](int64_t begin, int64_t end) {
    Run(loops_.both, At(x, begin, size_), At(y, begin, size_), end - begin,
        At(out, begin, out_size_));
  });
}

void BinaryFunction::Broadcast(const BroadcastPlan& plan,
                               const void* x,
                               const void* y,
                               void* out) const {
  if (plan.rank > 1 && plan.row_size() <= kShortRow && !IsConverted(dtype_)) {
    return BroadcastShortRows(plan, x, y, out);
  }
  const auto loop = LoopOf(loops_, SidesOf(plan));
  ForEachPiece(plan, [&](const Piece& piece) {
    Run(loop, At(x, piece.x, size_), At(y, piece.y, size_), piece.count,
        At(out, piece.out, out_size_));
  });
}

// Computes blocks of many rows at a time, of copies of the operands that are
// broadcast.
void BinaryFunction::BroadcastShortRows(const BroadcastPlan& plan,
                                        const void* x,
                                        const void* y,
                                        void* out) const {
  const int64_t row = plan.row_size(), most = kBlock / row;
  ParallelFor(plan.row_count(), std::max<int64_t>(1, kGrain / row),
              [&](int64_t begin, int64_t end) {
                RowsOfOperand left(plan, plan.x_steps, x, size_);
                RowsOfOperand right(plan, plan.y_steps, y, size_);
                for (int64_t i = begin; i < end; i += most) {
                  const int64_t rows = std::min(most, end - i);
                  left.Begin(i);
                  right.Begin(i);
                  ForEachRow(plan, i, i + rows,
                             [&](int64_t x_at, int64_t y_at, int64_t /*out*/) {
                               left.Add(x_at);
                               right.Add(y_at);
                             });
                  loops_.both(left.data(), right.data(), rows * row,
                              At(out, i * row, out_size_));
                }
              });
}

void BinaryFunction::Run(decltype(BinaryLoops::both) loop,
                         const void* x,
                         const void* y,
                         int64_t count,
                         void* out) const {
  if (!IsConverted(dtype_)) return loop(x, y, count, out);
  ConvertedOperand left(dtype_, x, loop == loops_.left);
  ConvertedOperand right(dtype_, y, loop == loops_.right);
  alignas(uint64_t) char results[kBlockBytes];
  for (int64_t at = 0; at < count; at += kBlock) {
    const int64_t block = std::min(kBlock, count - at);
    const void* a = left.Block(at, block);
    const void* b = right.Block(at, block);
    if (out_size_ == size_) {
      loop(a, b, block, results);
      NarrowBlock(dtype_, results, block, At(out, at, out_size_));
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
  const auto size = static_cast<int64_t>(SizeOf(dtype_));
  if (!IsConverted(dtype_)) {
    return ForEachPiece(plan, [&](const Piece& piece) {
      loop(At(out_grad, piece.out, size), At(x, piece.x, size),
           At(y, piece.y, size), At(out, piece.out, size), piece.count,
           At(terms, piece.out, size));
    });
  }
  ForEachPiece(plan, [&](const Piece& piece) {
    ConvertedOperand grads(dtype_, At(out_grad, piece.out, size), false);
    ConvertedOperand left(dtype_, At(x, piece.x, size), sides == Sides::kLeft);
    ConvertedOperand right(dtype_, At(y, piece.y, size),
                           sides == Sides::kRight);
    ConvertedOperand outs(dtype_, At(out, piece.out, size), false);
    alignas(uint64_t) char results[kBlockBytes];
    for (int64_t at = 0; at < piece.count; at += kBlock) {
      const int64_t count = std::min(kBlock, piece.count - at);
      loop(grads.Block(at, count), left.Block(at, count),
           right.Block(at, count), outs.Block(at, count), count, results);
      NarrowBlock(dtype_, results, count, At(terms, piece.out + at, size));
    }
  });
}

}  // namespace sluice
