#include "sluice/operators/resize/resize_passes.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "sluice/operators/math/half_conversions.h"
#include "sluice/operators/math/strided_copy.h"
#include "sluice/platform/dtype.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {

namespace {

constexpr int64_t kResizeGrain = 16384;  // products
constexpr int64_t kPiece = 256;          // elements that are summed together

// Computes an element along the innermost axis.
template <typename Value, typename From>
Value SumOfTaps(const ResizeTap* tap,
                const ResizeTap* end,
                Value outside,
                const From* row) {
  const auto product = [row](const ResizeTap& of) {
    return static_cast<Value>(of.weight) *
           static_cast<Value>(Widen(row[of.index]));
  };
  if (end - tap == 2) return Value{0} + product(tap[0]) + product(tap[1]);
  if (tap == end) return outside;
  Value sum = 0;
  for (; tap != end; ++tap) {
    sum += product(*tap);
  }
  return sum;
}

// Sets sums[i] to weight * from[i], or adds it.
template <bool kAdd, typename Value, typename From>
void AddRow(double weight, int64_t count, const From* from, Value* sums) {
  const auto factor = static_cast<Value>(weight);
  for (int64_t i = 0; i < count; ++i) {
    const Value product = factor * static_cast<Value>(Widen(from[i]));
    sums[i] = kAdd ? sums[i] + product : product;
  }
}

}  // namespace

ResizeTable MakeResizeTable(const ResizeAxis& axis) {
  ResizeTable table;
  table.begins.reserve(static_cast<size_t>(axis.out) + 1);
  table.begins.push_back(0);
  for (int64_t j = 0; j < axis.out; ++j) {
    const ResizePosition position = axis.PositionOf(j);
    const double sum = axis.WeightSum(position);
    for (int64_t t = 0; t < axis.taps(); ++t) {
      const ResizeTap tap = axis.TapOf(position, t, sum);
      if (tap.weight != 0) table.taps.push_back(tap);
    }
    table.begins.push_back(static_cast<int64_t>(table.taps.size()));
  }
  return table;
}

ResizeTable Transposed(const ResizeTable& table, int64_t in) {
  ResizeTable result;
  result.begins.assign(static_cast<size_t>(in) + 1, 0);
  for (const ResizeTap& tap : table.taps) {
    ++result.begins[tap.index + 1];
  }
  for (int64_t i = 0; i < in; ++i) {
    result.begins[i + 1] += result.begins[i];
  }
  result.taps.resize(table.taps.size());
  std::vector<int64_t> next = result.begins;
  for (int64_t j = 0; j < table.rows(); ++j) {
    for (int64_t t = table.begins[j]; t < table.begins[j + 1]; ++t) {
      const ResizeTap& tap = table.taps[t];
      result.taps[next[tap.index]++] = {j, tap.weight};
    }
  }
  return result;
}

// The axes are in reverse order for the gradient, so that its passes are the
// transposes of the forward passes.
ResizePasses::ResizePasses(std::span<const ResizeAxis> axes, bool backward) {
  const auto rank = static_cast<int64_t>(axes.size());
  std::vector<int64_t> sizes;
  for (const ResizeAxis& axis : axes) {
    sizes.push_back(backward ? axis.out : axis.in);
  }
  const auto product = [&](int64_t first, int64_t last) {
    int64_t numel = 1;
    for (int64_t i = first; i < last; ++i) {
      numel *= sizes[i];
    }
    return numel;
  };
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t at = backward ? i : rank - 1 - i;
    if (axes[at].Identity()) continue;
    Pass pass{MakeResizeTable(axes[at]), product(0, at), sizes[at],
              product(at + 1, rank), backward ? 0 : axes[at].outside};
    if (backward) pass.table = Transposed(pass.table, axes[at].in);
    sizes[at] = pass.table.rows();
    passes_.push_back(std::move(pass));
  }
  numel_ = product(0, rank);
  for (size_t i = 0; i + 1 < passes_.size(); ++i) {
    const Pass& pass = passes_[i];
    scratch_[i % 2] =
        std::max(scratch_[i % 2], pass.outer * pass.table.rows() * pass.inner);
  }
}

template <typename Value, typename From, typename To>
void ResizePasses::RunPass(const Pass& pass, const From* from, To* to) {
  const ResizeTable& table = pass.table;
  const int64_t rows = table.rows(), inner = pass.inner;
  const auto outside = static_cast<Value>(pass.outside);
  const ResizeTap* const taps = table.taps.data();
  const auto products = static_cast<int64_t>(table.taps.size());
  const int64_t of_row = std::max<int64_t>(products / rows, 1) * inner;
  const int64_t grain = std::max<int64_t>(1, kResizeGrain / of_row);
  // Row r of all matrices is row r % rows of matrix r / rows, [in, inner].
  const auto lines = [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end;) {
      const From* const row = from + r / rows * pass.in;
      const int64_t* of = table.begins.data() + r % rows;
      const int64_t row_end = std::min(end, r + rows - r % rows);
      for (; r < row_end; ++r, ++of) {
        to[r] = Narrow<To>(static_cast<Computed<To>>(
            SumOfTaps<Value>(taps + of[0], taps + of[1], outside, row)));
      }
    }
  };
  const auto planes = [&](int64_t begin, int64_t end) {
    Value sums[kPiece];
    for (int64_t r = begin; r < end; ++r) {
      const int64_t first = table.begins[r % rows];
      const int64_t last = table.begins[r % rows + 1];
      const From* matrix = from + r / rows * pass.in * inner;
      for (int64_t i = 0; i < inner; i += kPiece) {
        const int64_t count = std::min(kPiece, inner - i);
        if (first == last) std::fill(sums, sums + count, outside);
        for (int64_t t = first; t < last; ++t) {
          const From* line = matrix + taps[t].index * inner + i;
          if (t == first) {
            AddRow<false>(taps[t].weight, count, line, sums);
          } else {
            AddRow<true>(taps[t].weight, count, line, sums);
          }
        }
        To* const out = to + r * inner + i;
        for (int64_t k = 0; k < count; ++k) {
          out[k] = Narrow<To>(static_cast<Computed<To>>(sums[k]));
        }
      }
    }
  };
  if (inner == 1) {
    ParallelFor(pass.outer * rows, grain, lines);
  } else {
    ParallelFor(pass.outer * rows, grain, planes);
  }
}

template <typename T, typename Value>
void ResizePasses::Run(const T* from, Value* scratch, T* to) const {
  if (passes_.empty()) {
    return CopyBytes(from, to, static_cast<size_t>(numel_) * sizeof(T));
  }
  if (passes_.size() == 1) return RunPass<Value>(passes_[0], from, to);
  Value* const buffers[2] = {scratch, scratch + scratch_[0]};
  RunPass<Value>(passes_[0], from, buffers[0]);
  const size_t last = passes_.size() - 1;
  for (size_t i = 1; i < last; ++i) {
    RunPass<Value>(passes_[i], buffers[(i - 1) % 2], buffers[i % 2]);
  }
  RunPass<Value>(passes_[last], buffers[(last - 1) % 2], to);
}

template SLUICE_API void ResizePasses::Run(const float*, float*, float*) const;
template SLUICE_API void ResizePasses::Run(const float*, double*, float*) const;
template SLUICE_API void ResizePasses::Run(const double*,
                                           double*,
                                           double*) const;
template SLUICE_API void ResizePasses::Run(const float16*,
                                           float*,
                                           float16*) const;
template SLUICE_API void ResizePasses::Run(const float16*,
                                           double*,
                                           float16*) const;
template SLUICE_API void ResizePasses::Run(const bfloat16*,
                                           float*,
                                           bfloat16*) const;
template SLUICE_API void ResizePasses::Run(const bfloat16*,
                                           double*,
                                           bfloat16*) const;

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
