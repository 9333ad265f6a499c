#include "sluice/operators/math/resize/resize_copy.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "sluice/operators/math/strided_copy.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

constexpr int64_t kShardBytes = 64 << 10;

// Writes each element of `from` kTimes times.
template <int kTimes, typename Unit>
void Repeat(const Unit* from, int64_t count, Unit* to) {
  for (int64_t i = 0; i < count; ++i) {
    for (int k = 0; k < kTimes; ++k) {
      to[kTimes * i + k] = from[i];
    }
  }
}

// Returns the number of times that each index occurs if all occur equally often
// and in order, otherwise 0.
int64_t RepeatsOf(const std::vector<int64_t>& index, int64_t in) {
  const auto out = static_cast<int64_t>(index.size());
  if (out % in != 0) return 0;
  const int64_t repeats = out / in;
  for (int64_t j = 0; j < out; ++j) {
    if (index[j] != j / repeats) return 0;
  }
  return repeats;
}

}  // namespace

ResizeCopy::ResizeCopy(std::span<const ResizeAxis> axes) {
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    AddOuter(*axis);
  }
}

void ResizeCopy::AddOuter(const ResizeAxis& from) {
  Axis axis;
  axis.in = from.in;
  axis.out = from.out;
  axis.x_step = x_numel_;
  axis.repeats = 1;
  if (!from.Identity()) {
    for (int64_t j = 0; j < from.out; ++j) {
      axis.index.push_back(from.TapOf(from.PositionOf(j), 0, 1).index);
    }
    axis.repeats = RepeatsOf(axis.index, axis.in);
  }
  x_numel_ *= from.in;
  out_numel_ *= from.out;
  const bool same = axis.repeats == 1;
  if (same && axes_.empty()) {
    block_ *= axis.in;
  } else if (same && axes_.back().repeats == 1) {
    axes_.back().in *= axis.in;
    axes_.back().out *= axis.in;
  } else {
    axes_.push_back(std::move(axis));
  }
}

// Returns the offset in X of row `row` of Out.
int64_t ResizeCopy::RowOf(int64_t row) const {
  int64_t from = 0;
  for (size_t i = 1; i < axes_.size(); ++i) {
    const Axis& axis = axes_[i];
    const int64_t at = row % axis.out;
    from += (axis.repeats == 1 ? at : axis.index[at]) * axis.x_step;
    row /= axis.out;
  }
  return from;
}

template <typename Unit>
void ResizeCopy::ExpandRow(const Unit* from, Unit* to) const {
  const Axis& axis = axes_[0];
  if (block_ > 1) {
    const size_t bytes = static_cast<size_t>(block_) * sizeof(Unit);
    for (int64_t j = 0; j < axis.out; ++j) {
      std::memcpy(to + j * block_, from + axis.index[j] * block_, bytes);
    }
    return;
  }
  switch (axis.repeats) {
    case 2:
      return Repeat<2>(from, axis.in, to);
    case 3:
      return Repeat<3>(from, axis.in, to);
    case 4:
      return Repeat<4>(from, axis.in, to);
    default:
      for (int64_t j = 0; j < axis.out; ++j) {
        to[j] = from[axis.index[j]];
      }
  }
}

template <typename Unit>
void ResizeCopy::CopyAs(const Unit* x, Unit* out) const {
  const int64_t width = axes_[0].out * block_;
  const size_t bytes = static_cast<size_t>(width) * sizeof(Unit);
  const int64_t grain =
      std::max<int64_t>(1, kShardBytes / static_cast<int64_t>(bytes));
  ParallelFor(out_numel_ / width, grain, [&](int64_t begin, int64_t end) {
    int64_t before = -1;
    for (int64_t row = begin; row < end; ++row) {
      const int64_t from = RowOf(row);
      Unit* const to = out + row * width;
      if (from == before) {
        std::memcpy(to, to - width, bytes);
      } else {
        ExpandRow(x + from, to);
      }
      before = from;
    }
  });
}

void ResizeCopy::Run(const void* x, size_t element_size, void* out) const {
  if (axes_.empty()) {
    return CopyBytes(x, out, static_cast<size_t>(block_) * element_size);
  }
  switch (element_size) {
    case 1:
      return CopyAs(static_cast<const uint8_t*>(x), static_cast<uint8_t*>(out));
    case 2:
      return CopyAs(static_cast<const uint16_t*>(x),
                    static_cast<uint16_t*>(out));
    case 4:
      return CopyAs(static_cast<const uint32_t*>(x),
                    static_cast<uint32_t*>(out));
    default:
      return CopyAs(static_cast<const uint64_t*>(x),
                    static_cast<uint64_t*>(out));
  }
}

}  // namespace sluice
