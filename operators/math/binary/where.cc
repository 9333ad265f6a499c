#include "sluice/operators/math/binary/where.h"

#include <algorithm>

#include "sluice/operators/math/broadcast.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

template <typename T>
void Row(const bool* condition,
         const T* yes,
         const T* no,
         const std::array<int64_t, 3>& steps,
         int64_t count,
         T* out) {
  if (steps[0] == 1 && steps[1] == 1 && steps[2] == 1) {
    for (int64_t i = 0; i < count; ++i) {
      out[i] = condition[i] ? yes[i] : no[i];
    }
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    out[i] = condition[i * steps[0]] ? yes[i * steps[1]] : no[i * steps[2]];
  }
}

}  // namespace

int WhereShape(const std::array<DDim, 3>& operands, DDim* result) {
  *result = operands[0];
  for (int i = 1; i < 3; ++i) {
    const DDim before = *result;
    if (BroadcastShape(before, operands[i], -1, result) >= 0) return i;
  }
  return -1;
}

Where::Where(const std::array<DDim, 3>& operands, size_t element_size)
    : element_size_(element_size) {
  DDim dims;
  WhereShape(operands, &dims);
  std::array<int64_t, 3> next = {1, 1, 1};
  // Axes are collected innermost first and reversed at the end.
  for (int i = dims.rank() - 1; i >= 0; --i) {
    if (dims[i] == 1) continue;
    Axis axis = {dims[i], {}};
    bool fuses = rank_ > 0;
    for (int k = 0; k < 3; ++k) {
      const int own = i - (dims.rank() - operands[k].rank());
      if (own >= 0 && operands[k][own] != 1) {
        axis.steps[k] = next[k];
        next[k] *= operands[k][own];
      }
      fuses = fuses && axis.steps[k] ==
                           axes_[rank_ - 1].steps[k] * axes_[rank_ - 1].size;
    }
    if (fuses) {
      axes_[rank_ - 1].size *= axis.size;
    } else {
      axes_[rank_++] = axis;
    }
  }
  if (rank_ == 0) axes_[rank_++] = {1, {1, 1, 1}};
  std::reverse(axes_.begin(), axes_.begin() + rank_);
  rows_ = dims.numel() == 0 ? 0 : dims.numel() / axes_[rank_ - 1].size;
}

void Where::Run(const bool* condition,
                const void* yes,
                const void* no,
                void* out) const {
  const auto run = [&]<typename T>(T /*element*/) {
    RunAs(condition, static_cast<const T*>(yes), static_cast<const T*>(no),
          static_cast<T*>(out));
  };
  switch (element_size_) {
    case 1:
      return run(uint8_t{});
    case 2:
      return run(uint16_t{});
    case 4:
      return run(uint32_t{});
    default:
      return run(uint64_t{});
  }
}

template <typename T>
void Where::RunAs(const bool* condition,
                  const T* yes,
                  const T* no,
                  T* out) const {
  if (rows_ == 0) return;
  const Axis& last = axes_[rank_ - 1];
  if (rows_ == 1) {
    return ParallelFor(last.size, kGrain, [&](int64_t begin, int64_t end) {
      Row(condition + begin * last.steps[0], yes + begin * last.steps[1],
          no + begin * last.steps[2], last.steps, end - begin, out + begin);
    });
  }
  ParallelFor(rows_, std::max<int64_t>(1, kGrain / last.size),
              [&](int64_t begin, int64_t end) {
                for (int64_t row = begin; row < end; ++row) {
                  std::array<int64_t, 3> at{};
                  int64_t rest = row;
                  for (int i = rank_ - 2; i >= 0; --i) {
                    const int64_t index = rest % axes_[i].size;
                    rest /= axes_[i].size;
                    for (int k = 0; k < 3; ++k) {
                      at[k] += index * axes_[i].steps[k];
                    }
                  }
                  Row(condition + at[0], yes + at[1], no + at[2], last.steps,
                      last.size, out + row * last.size);
                }
              });
}

}  // namespace sluice
