#include "sluice/operators/conv/conv2d_rows.h"

#include <algorithm>

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "sluice/operators/conv/conv2d_work.h"
#include "sluice/operators/conv/conv_method.h"
#include "sluice/operators/conv/slots.h"
#include "sluice/platform/cpu/simd_dispatch.h"

#ifndef SLUICE_ROWS_BAND
#define SLUICE_ROWS_BAND
namespace sluice {

// Output rows of one image and one group. `input` is the start of the window at
// column 0 of the first row, in the group's first channel. `output` is the
// output of that window for the group's first filter.
template <typename T>
struct RowsBand {
  const Conv2dRowsPlan& plan;
  const T* input;
  const T* filter;  // the group's
  const T* bias;    // the group's, or nullptr
  T* output;
  int64_t rows;
};

}  // namespace sluice
#endif

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

SLUICE_SIMD_FLOATS(Band);

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice {
namespace {

SLUICE_EXPORT_FLOATS(Band);

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

namespace {

// output = bias (nullptr: 0) + the convolution of input and filter. Runs
// through ParallelFor. T is float or double.
template <typename T>
void Conv2dRows(const Conv2dRowsPlan& plan,
                const T* input,
                const T* filter,
                const T* bias,
                T* output,
                void* scratch) {
  const Conv2dGeometry& g = plan.g;
  const int64_t units = g.n * plan.bands;
  const auto run_band = BandFor<T>();
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
      run_band(RowsBand<T>{
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

class RowsMethod {
 public:
  void Prepare(KernelPreparation& preparation,
               Conv2dDirection /*direction*/,
               size_t element) {
    plan_ = PlanConv2dRows(Conv2dGeometryOf(preparation.query), element,
                           preparation.num_threads);
    preparation.scratch_bytes = plan_.scratch_bytes(element);
  }
  const Conv2dGeometry& geometry() const { return plan_.g; }

  template <typename T>
  void Forward(const T* input,
               const T* filter,
               const T* bias,
               T* output,
               void* scratch) const {
    Conv2dRows(plan_, input, filter, bias, output, scratch);
  }

 private:
  Conv2dRowsPlan plan_;
};

std::string WideRows(const KernelQuery& query) {
  const Conv2dGeometry g = Conv2dGeometryOf(query);
  const size_t element = SizeOf(query.input_dtypes[0]);
  if (FitsConv2dRows(g, element)) return "";
  return Format(
      "needs NCHW and rows of at least {} outputs, a vector, got {} with {}",
      VectorLanes(element), query.Attr<std::string>("data_format"), g.out_w);
}

KernelWork RowsWork(const KernelQuery& query) {
  return Conv2dRowsWork(Conv2dGeometryOf(query), SizeOf(query.input_dtypes[0]));
}

}  // namespace

REGISTER_OP_KERNEL(conv2d,
                   PLAIN,
                   CPUPlace,
                   rows,
                   KernelTraits().Estimate(&RowsWork).When(&WideRows),
                   ConvKernel<RowsMethod, FloatTypes>);

}  // namespace sluice
#endif  // HWY_ONCE
