#include "sluice/operators/math/strided_copy.h"

#include <algorithm>
#include <cstring>

#include "sluice/operators/math/movement/transpose_tile.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

// The rows and columns of a tile fit into the first-level cache.
constexpr int64_t kTile = 32;

int64_t CeilDiv(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace

void CopyBytes(const void* from, void* to, size_t bytes) {
  ParallelFor(static_cast<int64_t>(bytes), kCopyShardBytes,
              [from, to](int64_t begin, int64_t end) {
                std::memcpy(static_cast<char*>(to) + begin,
                            static_cast<const char*>(from) + begin,
                            static_cast<size_t>(end - begin));
              });
}

void FillZero(void* to, size_t bytes) {
  ParallelFor(static_cast<int64_t>(bytes), kCopyShardBytes,
              [to](int64_t begin, int64_t end) {
                std::memset(static_cast<char*>(to) + begin, 0,
                            static_cast<size_t>(end - begin));
              });
}

StridedCopy::Strides RowMajorStrides(const DDim& dims) {
  StridedCopy::Strides strides{};
  int64_t stride = 1;
  for (int axis = dims.rank() - 1; axis >= 0; --axis) {
    strides[axis] = stride;
    stride *= std::max<int64_t>(dims[axis], 1);
  }
  return strides;
}

StridedCopy::StridedCopy(const DDim& sizes,
                         const Strides& from_strides,
                         const Strides& to_strides,
                         size_t element_size)
    : element_size_(element_size) {
  if (sizes.numel() == 0) return;
  const auto bytes = static_cast<int64_t>(element_size);
  for (int axis = 0; axis < sizes.rank(); ++axis) {
    Append({sizes[axis], from_strides[axis] * bytes, to_strides[axis] * bytes});
  }
  column_ = {1, bytes, bytes};
  if (outer_rank_ > 0) {
    const Axis& last = outer_[outer_rank_ - 1];
    contiguous_ = last.from == bytes && last.to == bytes;
    column_ = last;
    --outer_rank_;
    if (!contiguous_) ChooseTiles();
  }
  outer_count_ = 1;
  for (int axis = 0; axis < outer_rank_; ++axis) {
    outer_count_ *= outer_[axis].size;
  }
}

void StridedCopy::Append(const Axis& axis) {
  if (axis.size == 1) return;
  if (outer_rank_ > 0) {
    Axis& previous = outer_[outer_rank_ - 1];
    if (previous.from == axis.from * axis.size &&
        previous.to == axis.to * axis.size) {
      previous = {previous.size * axis.size, axis.from, axis.to};
      return;
    }
  }
  outer_[outer_rank_++] = axis;
}

// Pairs the axis that is contiguous at `to` with the one that is contiguous at
// `from`, if any. Tiles then use whole cache lines on both sides.
void StridedCopy::ChooseTiles() {
  int best = -1;
  for (int axis = 0; axis < outer_rank_; ++axis) {
    if (best < 0 || outer_[axis].from < outer_[best].from) best = axis;
  }
  if (best < 0) return;
  row_ = outer_[best];
  std::copy(outer_.begin() + best + 1, outer_.begin() + outer_rank_,
            outer_.begin() + best);
  --outer_rank_;
}

void StridedCopy::operator()(const void* from, void* to) const {
  if (outer_count_ == 0) return;
  const auto* source = static_cast<const char*>(from);
  auto* target = static_cast<char*>(to);
  const int64_t column_bytes =
      column_.size * static_cast<int64_t>(element_size_);
  if (contiguous_ && outer_count_ == 1) {
    return CopyBytes(from, to, static_cast<size_t>(column_bytes));
  }
  if (contiguous_) {
    ParallelFor(outer_count_, CeilDiv(kCopyShardBytes, column_bytes),
                [&](int64_t begin, int64_t end) {
                  CopyRuns(source, target, begin, end);
                });
    return;
  }
  const int64_t steps = outer_count_ * CeilDiv(row_.size, kTile);
  const int64_t grain =
      CeilDiv(kCopyShardBytes, column_bytes * std::min(row_.size, kTile));
  ParallelFor(steps, grain, [&](int64_t begin, int64_t end) {
    switch (element_size_) {
      case 1:
        return CopyTiles<uint8_t>(source, target, begin, end);
      case 2:
        return CopyTiles<uint16_t>(source, target, begin, end);
      case 4:
        return CopyTiles<uint32_t>(source, target, begin, end);
      default:
        return CopyTiles<uint64_t>(source, target, begin, end);
    }
  });
}

void StridedCopy::CopyRuns(const char* from,
                           char* to,
                           int64_t begin,
                           int64_t end) const {
  std::array<int64_t, DDim::kMaxRank> position{};
  int64_t rest = begin;
  for (int axis = outer_rank_ - 1; axis >= 0; --axis) {
    position[axis] = rest % outer_[axis].size;
    rest /= outer_[axis].size;
    from += position[axis] * outer_[axis].from;
    to += position[axis] * outer_[axis].to;
  }
  const size_t bytes = static_cast<size_t>(column_.size) * element_size_;
  const int inner = outer_rank_ - 1;
  for (int64_t step = begin; step < end;) {
    const int64_t count =
        std::min(end - step, outer_[inner].size - position[inner]);
    for (int64_t i = 0; i < count; ++i) {
      std::memcpy(to, from, bytes);
      from += outer_[inner].from;
      to += outer_[inner].to;
    }
    step += count;
    position[inner] += count;
    for (int axis = inner; axis > 0 && position[axis] == outer_[axis].size;
         --axis) {
      from += outer_[axis - 1].from - position[axis] * outer_[axis].from;
      to += outer_[axis - 1].to - position[axis] * outer_[axis].to;
      position[axis] = 0;
      ++position[axis - 1];
    }
  }
}

template <typename Unit>
void StridedCopy::CopyTiles(const char* from,
                            char* to,
                            int64_t begin,
                            int64_t end) const {
  const int64_t row_tiles = CeilDiv(row_.size, kTile);
  constexpr auto kUnit = static_cast<int64_t>(sizeof(Unit));
  const bool transposed = row_.from == kUnit && column_.to == kUnit;
  for (int64_t step = begin; step < end; ++step) {
    const char* source = from;
    char* target = to;
    int64_t rest = step / row_tiles;
    for (int axis = outer_rank_ - 1; axis >= 0; --axis) {
      const int64_t position = rest % outer_[axis].size;
      rest /= outer_[axis].size;
      source += position * outer_[axis].from;
      target += position * outer_[axis].to;
    }
    const int64_t first_row = step % row_tiles * kTile;
    const int64_t last_row = std::min(first_row + kTile, row_.size);
    for (int64_t first = 0; first < column_.size; first += kTile) {
      const int64_t last = std::min(first + kTile, column_.size);
      const char* in = source + first_row * row_.from + first * column_.from;
      char* out = target + first_row * row_.to + first * column_.to;
      if (transposed) {
        TransposeTile(in, column_.from, out, row_.to, last_row - first_row,
                      last - first, sizeof(Unit));
        continue;
      }
      for (int64_t row = first_row; row < last_row; ++row) {
        for (int64_t column = 0; column < last - first; ++column) {
          Unit unit;
          std::memcpy(&unit, in + column * column_.from, sizeof(Unit));
          std::memcpy(out + column * column_.to, &unit, sizeof(Unit));
        }
        in += row_.from;
        out += row_.to;
      }
    }
  }
}

}  // namespace sluice
