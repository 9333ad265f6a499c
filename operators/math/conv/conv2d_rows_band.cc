#include "sluice/operators/math/conv/conv2d_rows_band.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "sluice/platform/cpu/simd_dispatch.h"
#include "sluice/platform/dtype_sets.h"

HWY_BEFORE_NAMESPACE();
namespace sluice {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
using Tag = hn::ScalableTag<T>;
template <typename T>
using V = hn::Vec<Tag<T>>;

// The filters of a tile. With two vectors each they use 12 registers.
constexpr int64_t kFilters = 6;
// The terms that are summed before the next filters, and the input bytes that
// they read. With the filters' elements these fit into the first-level cache.
constexpr int64_t kDepth = 288;
constexpr int64_t kInputBytes = 20480;

// The offsets that a vector of windows reads from and writes to, relative to
// the band. The last vector of a row ends with the row; it skips the first
// `done` windows, which the previous vector has computed.
struct Windows {
  int64_t from, to, done;
};

// A range of the group's channels to sum over. `first` and `last` say whether
// it is the first or the last range; the bias is added after the last.
struct Terms {
  int64_t channel, channels;
  bool first, last;
};

// Adds to `sums` the products of one element of each window, at x[v][tap], and
// of element `at` of each filter. Each of `filters` is followed by two more.
template <int kF, int kV, typename T>
HWY_INLINE void AddElement(const T* const (&x)[kV],
                           int64_t tap,
                           const T* const (&filters)[(kF + 2) / 3],
                           int64_t patch,
                           int64_t at,
                           V<T> (&sums)[kF][kV]) {
  const Tag<T> d;
  V<T> values[kV];
  HWY_UNROLL(4)
  for (int v = 0; v < kV; ++v) {
    values[v] = hn::LoadU(d, x[v] + tap);
  }
  HWY_UNROLL(6)
  for (int f = 0; f < kF; ++f) {
    const V<T> weight = hn::Set(d, filters[f / 3][(f % 3) * patch + at]);
    HWY_UNROLL(4)
    for (int v = 0; v < kV; ++v) {
      sums[f][v] = hn::MulAdd(weight, values[v], sums[f][v]);
    }
  }
}

// Computes kF filters, from `filter` on, for kV vectors of windows.
template <int kF, int kV, typename T>
HWY_INLINE void RowsTile(const RowsBand<T>& band,
                         const Terms& terms,
                         int64_t filter,
                         const Windows* windows) {
  const Tag<T> d;
  const Conv2dGeometry& g = band.plan.g;
  const int64_t pixels = g.out_pixels(), patch = g.patch();
  T* output = band.output + filter * pixels;
  V<T> sums[kF][kV];
  HWY_UNROLL(6)
  for (int f = 0; f < kF; ++f) {
    HWY_UNROLL(4)
    for (int v = 0; v < kV; ++v) {
      sums[f][v] = terms.first
                       ? hn::Zero(d)
                       : hn::LoadU(d, output + f * pixels + windows[v].to);
    }
  }
  const T* x[kV];
  HWY_UNROLL(4)
  for (int v = 0; v < kV; ++v) {
    x[v] = band.input + terms.channel * band.plan.plane + windows[v].from;
  }
  const int64_t* HWY_RESTRICT taps = band.plan.taps.data();
  const auto count = static_cast<int64_t>(band.plan.taps.size());
  // Pointers to every third filter: each reaches three filters by two strides.
  const T* filters[(kF + 2) / 3];
  HWY_UNROLL(2)
  for (int f = 0; f < kF; f += 3) {
    filters[f / 3] = band.filter + (filter + f) * patch + terms.channel * count;
  }
  for (int64_t k = 0; k < terms.channels * count; k += count) {
    for (int64_t t = 0; t < count; ++t) {
      AddElement<kF, kV>(x, taps[t], filters, patch, k + t, sums);
    }
    HWY_UNROLL(4)
    for (int v = 0; v < kV; ++v) {
      x[v] += band.plan.plane;
    }
  }
  HWY_UNROLL(6)
  for (int f = 0; f < kF; ++f) {
    V<T> bias = hn::Zero(d);
    if (terms.last && band.bias != nullptr) {
      bias = hn::Set(d, band.bias[filter + f]);
    }
    HWY_UNROLL(4)
    for (int v = 0; v < kV; ++v) {
      T* to = output + f * pixels + windows[v].to;
      V<T> sum = hn::Add(sums[f][v], bias);
      if (windows[v].done > 0) {
        const auto done = hn::FirstN(d, static_cast<size_t>(windows[v].done));
        sum = hn::IfThenElse(done, hn::LoadU(d, to), sum);
      }
      hn::StoreU(sum, d, to);
    }
  }
}

// Computes kF filters for rows [top, bottom) of the band, kV vectors at a time.
template <int kF, int kV, typename T>
HWY_NOINLINE void RowsFilters(const RowsBand<T>& band,
                              const Terms& terms,
                              int64_t filter,
                              int64_t top,
                              int64_t bottom) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(Tag<T>()));
  const Conv2dGeometry& g = band.plan.g;
  const int64_t step = g.stride_h * band.plan.row;
  Windows windows[kV];
  int waiting = 0;
  for (int64_t row = top; row < bottom; ++row) {
    for (int64_t column = 0; column < g.out_w; column += lanes) {
      const int64_t at = HWY_MIN(column, g.out_w - lanes);
      windows[waiting] = {row * step + at, row * g.out_w + at, column - at};
      if (++waiting < kV) continue;
      RowsTile<kF, kV>(band, terms, filter, windows);
      waiting = 0;
    }
  }
  for (int v = 0; v < waiting; ++v) {
    RowsTile<kF, 1>(band, terms, filter, windows + v);
  }
}

template <typename T>
HWY_INLINE void AllFilters(const RowsBand<T>& band,
                           const Terms& terms,
                           int64_t top,
                           int64_t bottom) {
  const int64_t filters = band.plan.g.group_out_c();
  const int64_t blocks = (filters + kFilters - 1) / kFilters;
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t first = block * filters / blocks;
    switch ((block + 1) * filters / blocks - first) {
      case 1:
        RowsFilters<1, 4>(band, terms, first, top, bottom);
        break;
      case 2:
        RowsFilters<2, 4>(band, terms, first, top, bottom);
        break;
      case 3:
        RowsFilters<3, 4>(band, terms, first, top, bottom);
        break;
      case 4:
        RowsFilters<4, 2>(band, terms, first, top, bottom);
        break;
      case 5:
        RowsFilters<5, 2>(band, terms, first, top, bottom);
        break;
      default:
        RowsFilters<6, 2>(band, terms, first, top, bottom);
    }
  }
}

template <typename T>
HWY_INLINE void Band(const RowsBand<T>& band) {
  const Conv2dGeometry& g = band.plan.g;
  const auto taps = static_cast<int64_t>(band.plan.taps.size());
  const int64_t channels = g.group_in_c();
  const int64_t at_once = HWY_MAX(kDepth / taps, 1);
  const int64_t parts = HWY_MAX((channels + at_once - 1) / at_once, 1);
  const int64_t row_bytes = (channels + parts - 1) / parts * g.stride_h *
                            band.plan.row * static_cast<int64_t>(sizeof(T));
  const int64_t under = (g.kernel_h - 1) * g.dilation_h;
  const int64_t fit = kInputBytes / HWY_MAX(row_bytes, 1) - under / g.stride_h;
  // Two rows allow pairs of vectors.
  const int64_t rows = HWY_MAX(fit, 2);
  for (int64_t top = 0; top < band.rows; top += rows) {
    const int64_t bottom = HWY_MIN(top + rows, band.rows);
    for (int64_t part = 0; part < parts; ++part) {
      const int64_t first = part * channels / parts;
      const int64_t end = (part + 1) * channels / parts;
      AllFilters(band, {first, end - first, part == 0, part + 1 == parts}, top,
                 bottom);
    }
  }
}

size_t RowsVectorBytes() {
  return hn::Lanes(Tag<uint8_t>());
}

SLUICE_SIMD_FLOATS(Band);

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
namespace sluice {

SLUICE_EXPORT_FLOATS(Band);
HWY_EXPORT(RowsVectorBytes);

template <typename T>
void RunRowsBand(const RowsBand<T>& band) {
  BandFor<T>()(band);
}
SLUICE_INSTANTIATE_FLOATS(RunRowsBand);

int64_t Conv2dRowsLanes(size_t element) {
  // Without vector instructions a vector has one byte, less than an element.
  const size_t bytes = HWY_DYNAMIC_DISPATCH(RowsVectorBytes)();
  return static_cast<int64_t>(std::max<size_t>(bytes / element, 1));
}

}  // namespace sluice
#endif  // HWY_ONCE
