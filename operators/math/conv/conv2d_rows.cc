#include "sluice/operators/math/conv/conv2d_rows.h"

#include <algorithm>

#include "sluice/operators/math/conv/conv2d_rows_band.h"
#include "sluice/operators/math/conv/slots.h"
#include "sluice/platform/dtype_sets.h"

namespace sluice {
namespace {

// A band's input fits into the second-level cache with the filters.
constexpr int64_t kBandBytes = int64_t{1} << 17;
// Planes at a multiple of this map to few sets of the first-level cache.
constexpr int64_t kConflictBytes = 1024;
constexpr int64_t kLineBytes = 64;

// Returns the input rows that `rows` rows of windows cover.
int64_t RowsUnder(const Conv2dGeometry& g, int64_t rows) {
  return (rows - 1) * g.stride_h + (g.kernel_h - 1) * g.dilation_h + 1;
}

int64_t RowsOfBand(const Conv2dRowsPlan& plan, int64_t number) {
  return number * plan.g.out_h / plan.bands;
}

// Copies the input of window rows [top, bottom) for one group. Column `phase` +
// stride_w * i of the padded row becomes column i of that phase, so that
// adjacent windows read adjacent elements.
template <typename T>
void CopyBand(const Conv2dRowsPlan& plan,
              const T* input,
              int64_t top,
              int64_t bottom,
              T* copy) {
  const Conv2dGeometry& g = plan.g;
  const int64_t phases = g.stride_w, width = plan.row / phases;
  const int64_t rows = RowsUnder(g, bottom - top);
  for (int64_t c = 0; c < g.group_in_c(); ++c) {
    for (int64_t r = 0; r < rows; ++r) {
      T* to = copy + c * plan.plane + r * plan.row;
      const int64_t row = top * g.stride_h + r - g.pad_top;
      if (row < 0 || row >= g.in_h) {
        std::fill(to, to + plan.row, T{0});
        continue;
      }
      const T* from = input + c * g.in_pixels() + row * g.in_w;
      for (int64_t phase = 0; phase < phases; ++phase, to += width) {
        const int64_t first = phase - g.pad_left;
        // Elements [begin, end) are inside the input.
        const int64_t begin = std::clamp<int64_t>(
            first >= 0 ? 0 : (-first + phases - 1) / phases, 0, width);
        const int64_t end = std::clamp<int64_t>(
            first >= g.in_w ? 0 : (g.in_w - first - 1) / phases + 1, begin,
            width);
        std::fill(to, to + begin, T{0});
        if (phases == 1) {
          std::copy(from + first + begin, from + first + end, to + begin);
        } else {
          for (int64_t i = begin; i < end; ++i) {
            to[i] = from[first + i * phases];
          }
        }
        std::fill(to + end, to + width, T{0});
      }
    }
  }
}

}  // namespace

Conv2dRowsPlan PlanConv2dRows(const Conv2dGeometry& geometry,
                              size_t element,
                              int num_threads) {
  Conv2dRowsPlan plan;
  plan.g = geometry;
  // With a single row of windows, the stride is not used and may be any number.
  if (geometry.out_h == 1) plan.g.stride_h = 1;
  const Conv2dGeometry& g = plan.g;
  const auto bytes = static_cast<int64_t>(element);
  const bool padded =
      g.pad_top > 0 || g.pad_bottom > 0 || g.pad_left > 0 || g.pad_right > 0;
  plan.copies =
      padded || g.stride_w > 1 || g.in_pixels() * bytes % kConflictBytes == 0;
  const int64_t reach = (g.kernel_w - 1) * g.dilation_w / g.stride_w;
  plan.row = plan.copies ? g.stride_w * (g.out_w + reach) : g.in_w;
  for (int64_t kh = 0; kh < g.kernel_h; ++kh) {
    for (int64_t kw = 0; kw < g.kernel_w; ++kw) {
      const int64_t column = kw * g.dilation_w;
      const int64_t at = plan.copies
                             ? column % g.stride_w * (plan.row / g.stride_w) +
                                   column / g.stride_w
                             : column;
      plan.taps.push_back(kh * g.dilation_h * plan.row + at);
    }
  }
  const int64_t row_bytes =
      std::max<int64_t>(g.group_in_c() * plan.row * g.stride_h * bytes, 1);
  const int64_t band_rows =
      std::clamp<int64_t>(kBandBytes / row_bytes, 1, g.out_h);
  plan.bands = (g.out_h + band_rows - 1) / band_rows;
  plan.slots = std::clamp<int64_t>(num_threads, 1,
                                   std::max<int64_t>(g.n * plan.bands, 1));
  plan.plane = g.in_pixels();
  if (plan.copies) {
    // An odd number of cache lines spreads the channels over the cache's sets.
    const int64_t line = kLineBytes / bytes;
    const int64_t rows = (g.out_h + plan.bands - 1) / plan.bands;
    const int64_t lines = (RowsUnder(g, rows) * plan.row + line - 1) / line;
    plan.plane = (lines | 1) * line;
    plan.copy = g.group_in_c() * plan.plane;
  }
  return plan;
}

template <typename T>
void Conv2dRows(const Conv2dRowsPlan& plan,
                const T* input,
                const T* filter,
                const T* bias,
                T* output,
                void* scratch) {
  const Conv2dGeometry& g = plan.g;
  const int64_t units = g.n * plan.bands;
  const auto run = [&](int64_t slot, int64_t unit) {
    const int64_t image = unit / plan.bands, number = unit % plan.bands;
    const int64_t top = RowsOfBand(plan, number);
    const int64_t bottom = RowsOfBand(plan, number + 1);
    for (int64_t group = 0; group < g.groups; ++group) {
      const int64_t in = image * g.in_c + group * g.group_in_c();
      const int64_t out_c = group * g.group_out_c();
      const T* from = input + in * g.in_pixels();
      if (plan.copies) {
        T* copy = static_cast<T*>(scratch) + slot * plan.copy;
        CopyBand(plan, from, top, bottom, copy);
        from = copy;
      } else {
        from += top * g.stride_h * g.in_w;
      }
      RunRowsBand(RowsBand<T>{
          plan, from, filter + out_c * g.patch(),
          bias == nullptr ? nullptr : bias + out_c,
          output + (image * g.out_c + out_c) * g.out_pixels() + top * g.out_w,
          bottom - top});
    }
  };
  ForEachSlot(plan.slots, units, [&](int64_t slot, int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      run(slot, unit);
    }
  });
}

SLUICE_INSTANTIATE_FLOATS(Conv2dRows);

}  // namespace sluice
