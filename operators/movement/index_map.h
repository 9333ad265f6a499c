#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "sluice/framework/op/op_kernel.h"
#include "sluice/platform/export.h"

// slice, pad, expand, tile and roll: elements of Out are elements of X or a
// constant. The positions in X that the elements of Out are copied from, axis
// by axis, are shared by host and device code.
namespace sluice {

// At most two arithmetic progressions of positions of Out.
struct Positions {
  struct Progression {
    int64_t first = 0;
    int64_t step = 1;
    int64_t count = 0;
  };
  Progression parts[2];

  constexpr int64_t count() const { return parts[0].count + parts[1].count; }
  constexpr int64_t operator[](int64_t i) const {
    return i < parts[0].count
               ? parts[0].first + i * parts[0].step
               : parts[1].first + (i - parts[0].count) * parts[1].step;
  }
};

// Maps position j of Out to index first + j * step of X, which has `size` of
// them. `beyond` defines an index outside of X.
struct AxisMap {
  enum class Beyond : uint8_t { kFill, kEdge, kReflect, kWrap };

  // `count` positions that read index, index + step, ... of X, or a constant if
  // index is -1.
  struct Run {
    int64_t count;
    int64_t index;
    int64_t step;
  };

  int64_t size = 1;
  int64_t out = 1;
  int64_t first = 0;
  int64_t step = 1;  // 1 unless `beyond` is kFill
  Beyond beyond = Beyond::kFill;
  // kWrap repeats elements [begin, end) of X: a pad may also remove some.
  int64_t begin = 0;
  int64_t end = 1;

  constexpr bool Identity() const {
    return first == 0 && step == 1 && size == out;
  }

  // Whether one element is repeated.
  constexpr bool Repeats() const {
    return size == 1 && first == 0 && step == 0 && beyond == Beyond::kFill;
  }

  // Returns the index of X at position j, or -1 for the constant.
  constexpr int64_t At(int64_t j) const {
    const int64_t i = first + j * step;
    if (beyond == Beyond::kWrap) return begin + Modulo(i - begin, end - begin);
    if (i >= 0 && i < size) return i;
    if (beyond == Beyond::kFill) return -1;
    if (beyond == Beyond::kEdge) return i < 0 ? 0 : size - 1;
    if (size == 1) return 0;
    const int64_t turn = Modulo(i, 2 * (size - 1));
    return turn < size ? turn : 2 * (size - 1) - turn;
  }

  // Returns the longest run that begins at position j.
  constexpr Run RunAt(int64_t j) const {
    const int64_t left = out - j;
    const int64_t i = first + j * step;
    if (beyond == Beyond::kWrap) {
      const int64_t at = At(j);
      return {Least(left, end - at), at, 1};
    }
    if (i >= 0 && i < size) {
      if (step == 0) return {left, i, 0};
      const int64_t inside = step > 0 ? (size - 1 - i) / step : i / -step;
      return {Least(left, inside + 1), i, step};
    }
    if (beyond == Beyond::kReflect && size > 1) {
      const int64_t turn = Modulo(i, 2 * (size - 1));
      if (turn < size - 1) return {Least(left, size - 1 - turn), turn, 1};
      const int64_t at = 2 * (size - 1) - turn;
      return {Least(left, at), at, -1};
    }
    // The run ends where the index enters X, if it does.
    int64_t outside = left;
    if (i < 0 && step > 0) outside = (-i + step - 1) / step;
    if (i >= size && step < 0) outside = (i - size - step) / -step;
    const int64_t constant = beyond == Beyond::kFill ? -1 : At(j);
    return {Least(left, outside), constant, 0};
  }

  // Returns the positions of Out that hold index i of X.
  constexpr Positions Of(int64_t i) const {
    if (beyond == Beyond::kFill) {
      if (step == 0) return {{{0, 1, i == first ? out : 0}, {}}};
      const int64_t j = (i - first) / step;
      const bool there = j * step == i - first && j >= 0 && j < out;
      return {{{j, 1, there ? 1 : 0}, {}}};
    }
    if (beyond == Beyond::kWrap) {
      if (i < begin || i >= end) return {};
      return {{Every(i - first, end - begin), {}}};
    }
    if (size == 1) return {{{0, 1, out}, {}}};
    if (beyond == Beyond::kEdge) {
      const int64_t low = i == 0 ? 0 : Most(i - first, 0);
      const int64_t high = i == size - 1 ? out : Least(i - first + 1, out);
      return {{{low, 1, Most(high - low, 0)}, {}}};
    }
    const int64_t period = 2 * (size - 1);
    const bool twice = i > 0 && i < size - 1;
    return {{Every(i - first, period),
             twice ? Every(-i - first, period) : Positions::Progression{}}};
  }

 private:
  static constexpr int64_t Least(int64_t a, int64_t b) { return a < b ? a : b; }
  static constexpr int64_t Most(int64_t a, int64_t b) { return a > b ? a : b; }
  static constexpr int64_t Modulo(int64_t i, int64_t period) {
    const int64_t rest = i % period;
    return rest < 0 ? rest + period : rest;
  }
  constexpr Positions::Progression Every(int64_t j, int64_t period) const {
    j = Modulo(j, period);
    return {j, period, j < out ? (out - 1 - j) / period + 1 : 0};
  }
};

// The maps of all axes, outermost first. Adjacent axes that Out copies
// unchanged are merged, and so are those that repeat one element. If they are
// innermost, they form `block`, whose elements always move together. Both
// tensors are not empty.
struct AxisMaps {
  int rank = 0;
  std::array<AxisMap, DDim::kMaxRank> axes{};
  std::array<int64_t, DDim::kMaxRank> x_steps{};  // in elements
  int64_t block = 1;
  int64_t x_numel = 1;
  int64_t out_numel = 1;

  // Adds an outermost axis.
  void AddOuter(const AxisMap& axis) {
    const int64_t step = x_numel;
    x_numel *= axis.size;
    out_numel *= axis.out;
    if (axis.Identity() && (rank == 0 || axis.size == 1)) {
      if (rank == 0) block *= axis.size;
      return;
    }
    if (axis.Identity() && axes[0].Identity()) {
      // A plain copy: kWrap would go on to repeat one of the two only.
      AxisMap both;
      both.size = both.out = axes[0].size * axis.size;
      axes[0] = both;
      return;
    }
    if (rank > 0 && axis.Repeats() && axes[0].Repeats()) {
      axes[0].out *= axis.out;
      return;
    }
    std::copy_backward(axes.begin(), axes.begin() + rank,
                       axes.begin() + rank + 1);
    std::copy_backward(x_steps.begin(), x_steps.begin() + rank,
                       x_steps.begin() + rank + 1);
    axes[0] = axis;
    x_steps[0] = step;
    ++rank;
  }

  // Returns the element of X for element `at` of Out, or -1 for the constant.
  constexpr int64_t At(int64_t at) const {
    int64_t from = at % block;
    at /= block;
    for (int i = rank - 1; i >= 0; --i) {
      const int64_t index = axes[i].At(at % axes[i].out);
      if (index < 0) return -1;
      from += index * x_steps[i];
      at /= axes[i].out;
    }
    return from;
  }

  // Calls visit(i) for each element i of Out that holds element `at` of X.
  template <typename Visit>
  constexpr void ForEachOf(int64_t at, const Visit& visit) const {
    // Arrays would be in the local memory of each thread of a device.
    const auto of_axis = [this, at](int i) {
      return axes[i].Of(at / x_steps[i] % axes[i].size);
    };
    int64_t count = 1;
    for (int i = rank - 1; i >= 0; --i) {
      count *= of_axis(i).count();
    }
    for (int64_t n = 0; n < count; ++n) {
      int64_t rest = n, out = at % block, out_step = block;
      for (int i = rank - 1; i >= 0; --i) {
        const Positions positions = of_axis(i);
        out += positions[rest % positions.count()] * out_step;
        rest /= positions.count();
        out_step *= axes[i].out;
      }
      visit(out);
    }
  }
};

// Returns a dim that may be counted from the end as one from the start.
SLUICE_API int AxisOf(int64_t axis, int rank);

// Returns the pads before each of `rank` dims, followed by those after each.
// `pads` is for the dims in `axes`; no axes means all dims.
SLUICE_API std::vector<int64_t> PadsOfAllDims(const std::vector<int64_t>& pads,
                                              const std::vector<int64_t>& axes,
                                              int rank);

// Returns the elements that NumPy selects by start:end:step on an axis of
// `size` elements. Indices and steps past either end are clipped.
SLUICE_API AxisMap SliceAxis(int64_t size,
                             int64_t start,
                             int64_t end,
                             int64_t step);

// Returns the elements of `x` that `out` is made of. The shape function has
// already checked both shapes.
SLUICE_API AxisMaps IndexMapsOf(const KernelQuery& query,
                                const DDim& x,
                                const DDim& out);

}  // namespace sluice
