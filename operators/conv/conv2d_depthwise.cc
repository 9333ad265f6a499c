#include "sluice/operators/conv/conv2d_depthwise.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "sluice/platform/cpu/simd_dispatch.h"
#include "sluice/platform/dtype_sets.h"
#include "sluice/platform/parallel_for.h"

#ifndef SLUICE_CONV2D_DEPTHWISE
#define SLUICE_CONV2D_DEPTHWISE
namespace sluice {

// The channels of a shard.
constexpr int64_t kDepthwiseChannels = 64;

// The arguments; `bias` and those that a direction does not use may be null.
template <typename T>
struct Depthwise {
  const Conv2dGeometry& g;
  const T* input;
  const T* filter;
  const T* bias;
  const T* output_grad;
  T* to;
};

}  // namespace sluice
#endif

HWY_BEFORE_NAMESPACE();
namespace sluice {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// to[i] += x[i] * y[i] for up to kDepthwiseChannels channels.
template <class D, typename T>
HWY_INLINE int64_t
MulAddVectors(D d, int64_t i, int64_t count, const T* x, const T* y, T* to) {
  constexpr int64_t kLanes = hn::MaxLanes(d);
  for (; i + kLanes <= count; i += kLanes) {
    const auto sum = hn::MulAdd(hn::LoadU(d, x + i), hn::LoadU(d, y + i),
                                hn::LoadU(d, to + i));
    hn::StoreU(sum, d, to + i);
  }
  return i;
}
template <typename T>
HWY_INLINE void MulAddRun(int64_t count, const T* x, const T* y, T* to) {
  int64_t i = MulAddVectors(hn::ScalableTag<T>(), 0, count, x, y, to);
  i = MulAddVectors(hn::CappedTag<T, 16 / sizeof(T)>(), i, count, x, y, to);
  for (; i < count; ++i) {
    to[i] += x[i] * y[i];
  }
}

// Packs channels [c, c + count) of the filters as [tap][channel].
template <typename T>
HWY_INLINE void PackTaps(const Conv2dGeometry& g,
                         const T* filter,
                         int64_t c,
                         int64_t count,
                         T* packed) {
  const int64_t taps = g.kernel_h * g.kernel_w;
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t tap = 0; tap < taps; ++tap) {
      packed[tap * kDepthwiseChannels + i] = filter[(c + i) * taps + tap];
    }
  }
}

// Calls visit(tap, input pixel) for each element of the filter that window (oh,
// ow) applies inside the input.
template <class Visit>
HWY_INLINE void ForEachTap(const Conv2dGeometry& g,
                           int64_t oh,
                           int64_t ow,
                           const Visit& visit) {
  for (int64_t kh = 0; kh < g.kernel_h; ++kh) {
    const int64_t h = oh * g.stride_h + kh * g.dilation_h - g.pad_top;
    if (h < 0 || h >= g.in_h) continue;
    for (int64_t kw = 0; kw < g.kernel_w; ++kw) {
      const int64_t w = ow * g.stride_w + kw * g.dilation_w - g.pad_left;
      if (w < 0 || w >= g.in_w) continue;
      visit(kh * g.kernel_w + kw, h * g.in_w + w);
    }
  }
}

// The elements of a filter, in one dim, that lie inside the input.
struct Taps {
  int64_t begin, end;
};

// `at`: the place of the filter's first element in a dim of this size.
HWY_INLINE Taps TapsInside(int64_t at,
                           int64_t size,
                           int64_t kernel,
                           int64_t dilation) {
  const int64_t begin = at < 0 ? (dilation - 1 - at) / dilation : 0;
  const int64_t end =
      at < size ? HWY_MIN(kernel, (size - at + dilation - 1) / dilation) : 0;
  return {begin, HWY_MAX(begin, end)};
}

// Neighbouring windows of a row, and the elements of the filter that all of
// them have inside the input.
struct Windows {
  int64_t h, w;  // where the first one begins, which may be outside
  Taps rows, columns;
};

// Computes kCount windows, a vector of channels at a time, with the sums in
// registers. The last vector ends with the channels, of which there is at least
// a vector, and computes some of them a second time.
template <int kCount, class D, typename T>
HWY_INLINE void AnyFilter(D d,
                          const Depthwise<T>& work,
                          const Windows& windows,
                          const T* image,
                          const T* packed,
                          T* to) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const Conv2dGeometry& g = work.g;
  for (int64_t next = 0; next < g.in_c; next += lanes) {
    const int64_t c = HWY_MIN(next, g.in_c - lanes);
    const auto start =
        work.bias == nullptr ? hn::Zero(d) : hn::LoadU(d, work.bias + c);
    hn::Vec<D> sums[kCount];
    HWY_UNROLL(8)
    for (int k = 0; k < kCount; ++k) {
      sums[k] = start;
    }
    for (int64_t kh = windows.rows.begin; kh < windows.rows.end; ++kh) {
      const int64_t row = (windows.h + kh * g.dilation_h) * g.in_w + windows.w;
      for (int64_t kw = windows.columns.begin; kw < windows.columns.end; ++kw) {
        const T* x = image + (row + kw * g.dilation_w) * g.in_c + c;
        const auto weight =
            hn::LoadU(d, packed + (kh * g.kernel_w + kw) * g.in_c + c);
        HWY_UNROLL(8)
        for (int k = 0; k < kCount; ++k) {
          const auto value = hn::LoadU(d, x + k * g.stride_w * g.in_c);
          sums[k] = hn::MulAdd(value, weight, sums[k]);
        }
      }
    }
    HWY_UNROLL(8)
    for (int k = 0; k < kCount; ++k) {
      hn::StoreU(sums[k], d, to + k * g.out_c + c);
    }
  }
}

// The same for windows that lie inside the input with all kWidth columns of the
// filter: each element of the input is loaded once for all of them.
template <int kCount, int kWidth, int kStride, class D, typename T>
HWY_INLINE void CommonFilter(D d,
                             const Depthwise<T>& work,
                             const Windows& windows,
                             const T* image,
                             const T* packed,
                             T* to) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  constexpr int kColumns = (kCount - 1) * kStride + kWidth;
  const Conv2dGeometry& g = work.g;
  for (int64_t next = 0; next < g.in_c; next += lanes) {
    const int64_t c = HWY_MIN(next, g.in_c - lanes);
    const auto start =
        work.bias == nullptr ? hn::Zero(d) : hn::LoadU(d, work.bias + c);
    hn::Vec<D> sums[kCount];
    HWY_UNROLL(8)
    for (int k = 0; k < kCount; ++k) {
      sums[k] = start;
    }
    for (int64_t kh = windows.rows.begin; kh < windows.rows.end; ++kh) {
      const int64_t row = (windows.h + kh * g.dilation_h) * g.in_w + windows.w;
      const T* x = image + row * g.in_c + c;
      const T* weight = packed + kh * kWidth * g.in_c + c;
      hn::Vec<D> weights[kWidth];
      HWY_UNROLL(7)
      for (int kw = 0; kw < kWidth; ++kw) {
        weights[kw] = hn::LoadU(d, weight + kw * g.in_c);
      }
      HWY_UNROLL(21)
      for (int column = 0; column < kColumns; ++column) {
        const auto value = hn::LoadU(d, x + column * g.in_c);
        HWY_UNROLL(7)
        for (int kw = 0; kw < kWidth; ++kw) {
          const int k = (column - kw) / kStride;
          if (column < kw || (column - kw) % kStride != 0 || k >= kCount) {
            continue;
          }
          sums[k] = hn::MulAdd(value, weights[kw], sums[k]);
        }
      }
    }
    HWY_UNROLL(8)
    for (int k = 0; k < kCount; ++k) {
      hn::StoreU(sums[k], d, to + k * g.out_c + c);
    }
  }
}

// Computes kCount windows that have all columns of the filter inside the input,
// or one that need not.
template <int kCount, typename T>
HWY_NOINLINE void ComputeWindows(const Depthwise<T>& work,
                                 const Windows& windows,
                                 const T* image,
                                 const T* packed,
                                 T* to) {
  const hn::ScalableTag<T> wide;
  const hn::CappedTag<T, 16 / sizeof(T)> narrow;
  const hn::CappedTag<T, 1> one;
  const Conv2dGeometry& g = work.g;
  if (g.in_c < static_cast<int64_t>(hn::Lanes(narrow))) {
    return AnyFilter<kCount>(one, work, windows, image, packed, to);
  }
  if (g.in_c < static_cast<int64_t>(hn::Lanes(wide))) {
    return AnyFilter<kCount>(narrow, work, windows, image, packed, to);
  }
  if constexpr (kCount > 1) {
    const int64_t stride = g.dilation_w == 1 ? g.stride_w : 0;
    if (g.kernel_w == 3 && stride == 1) {
      return CommonFilter<kCount, 3, 1>(wide, work, windows, image, packed, to);
    }
    if (g.kernel_w == 3 && stride == 2) {
      return CommonFilter<kCount, 3, 2>(wide, work, windows, image, packed, to);
    }
    if (g.kernel_w == 5 && stride == 1) {
      return CommonFilter<kCount, 5, 1>(wide, work, windows, image, packed, to);
    }
    if (g.kernel_w == 5 && stride == 2) {
      return CommonFilter<kCount, 5, 2>(wide, work, windows, image, packed, to);
    }
    if (g.kernel_w == 7 && stride == 1) {
      return CommonFilter<kCount, 7, 1>(wide, work, windows, image, packed, to);
    }
  }
  AnyFilter<kCount>(wide, work, windows, image, packed, to);
}

// Computes output rows [begin, end) of all images, with filters as
// [tap][channel] in `packed`.
template <typename T>
HWY_INLINE void ForwardRows(const Depthwise<T>& work,
                            const T* packed,
                            int64_t begin,
                            int64_t end) {
  const Conv2dGeometry& g = work.g;
  // The windows that have all columns of the filter inside the input.
  const int64_t first = (g.pad_left + g.stride_w - 1) / g.stride_w;
  const int64_t room =
      g.in_w + g.pad_left - (g.kernel_w - 1) * g.dilation_w - 1;
  const int64_t last = room < 0 ? 0 : HWY_MIN(room / g.stride_w + 1, g.out_w);
  const int64_t inner = last - first;
  for (int64_t row = begin; row < end; ++row) {
    const int64_t n = row / g.out_h;
    const T* image = work.input + n * g.in_h * g.in_w * g.in_c;
    Windows windows = {row % g.out_h * g.stride_h - g.pad_top, 0, {}, {}};
    windows.rows = TapsInside(windows.h, g.in_h, g.kernel_h, g.dilation_h);
    for (int64_t ow = 0; ow < g.out_w;) {
      // The last windows may be computed a second time.
      const bool inside = ow >= first && ow < last && inner >= 4;
      const int64_t count = !inside ? 1 : inner >= 8 ? 8 : 4;
      const int64_t at = inside ? HWY_MIN(ow, last - count) : ow;
      T* to = work.to + (row * g.out_w + at) * g.out_c;
      windows.w = at * g.stride_w - g.pad_left;
      windows.columns = TapsInside(windows.w, g.in_w, g.kernel_w, g.dilation_w);
      if (count == 8) {
        ComputeWindows<8>(work, windows, image, packed, to);
      } else if (count == 4) {
        ComputeWindows<4>(work, windows, image, packed, to);
      } else {
        ComputeWindows<1>(work, windows, image, packed, to);
      }
      ow = at + count;
    }
  }
}

template <typename T>
struct GradInputTap {
  HWY_INLINE void operator()(int64_t tap, int64_t pixel) const {
    MulAddRun(count, grad, packed + tap * kDepthwiseChannels,
              image + pixel * channels);
  }
  int64_t count, channels;
  const T* grad;
  const T* packed;
  T* image;
};

// Computes channels [c, c + count) of all of image n, as windows overlap.
template <typename T>
HWY_INLINE void GradInputImage(const Depthwise<T>& work,
                               int64_t n,
                               int64_t c,
                               int64_t count) {
  const Conv2dGeometry& g = work.g;
  T packed[kDepthwiseTaps * kDepthwiseChannels];
  PackTaps(g, work.filter, c, count, packed);
  T* image = work.to + n * g.in_h * g.in_w * g.in_c + c;
  for (int64_t pixel = 0; pixel < g.in_h * g.in_w; ++pixel) {
    for (int64_t i = 0; i < count; ++i) {
      image[pixel * g.in_c + i] = T{0};
    }
  }
  const T* grad = work.output_grad + n * g.out_h * g.out_w * g.out_c + c;
  for (int64_t oh = 0; oh < g.out_h; ++oh) {
    for (int64_t ow = 0; ow < g.out_w; ++ow, grad += g.out_c) {
      ForEachTap(g, oh, ow,
                 GradInputTap<T>{count, g.in_c, grad, packed, image});
    }
  }
}

// Computes element `tap` of the filters of channels [c, c + count). Each row of
// windows has its own partial sum.
template <typename T>
HWY_INLINE void GradFilterTap(const Depthwise<T>& work,
                              int64_t tap,
                              int64_t c,
                              int64_t count) {
  const Conv2dGeometry& g = work.g;
  const int64_t kh = tap / g.kernel_w, kw = tap % g.kernel_w;
  T total[kDepthwiseChannels] = {};
  for (int64_t row = 0; row < g.n * g.out_h; ++row) {
    const int64_t h =
        row % g.out_h * g.stride_h + kh * g.dilation_h - g.pad_top;
    if (h < 0 || h >= g.in_h) continue;
    const T* x =
        work.input + (row / g.out_h * g.in_h + h) * g.in_w * g.in_c + c;
    const T* grad = work.output_grad + row * g.out_w * g.out_c + c;
    T sums[kDepthwiseChannels] = {};
    for (int64_t ow = 0; ow < g.out_w; ++ow) {
      const int64_t w = ow * g.stride_w + kw * g.dilation_w - g.pad_left;
      if (w < 0 || w >= g.in_w) continue;
      MulAddRun(count, x + w * g.in_c, grad + ow * g.out_c, sums);
    }
    for (int64_t i = 0; i < count; ++i) {
      total[i] += sums[i];
    }
  }
  for (int64_t i = 0; i < count; ++i) {
    work.to[(c + i) * g.kernel_h * g.kernel_w + tap] = total[i];
  }
}

SLUICE_SIMD_FLOATS(ForwardRows);
SLUICE_SIMD_FLOATS(GradInputImage);
SLUICE_SIMD_FLOATS(GradFilterTap);

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice {
namespace {

SLUICE_EXPORT_FLOATS(ForwardRows);
SLUICE_EXPORT_FLOATS(GradInputImage);
SLUICE_EXPORT_FLOATS(GradFilterTap);

// Calls body(c, count) for blocks of channels.
template <typename Body>
void ForEachRun(int64_t channels, const Body& body) {
  for (int64_t c = 0; c < channels; c += kDepthwiseChannels) {
    body(c, HWY_MIN(kDepthwiseChannels, channels - c));
  }
}

// Returns a thread's minimum of items, each of `work` multiply-adds.
int64_t Grain(int64_t work) {
  return 1 + 50'000 / (1 + work);
}

}  // namespace

template <typename T>
void PackDepthwise(const Conv2dGeometry& g,
                   const T* filter,
                   const double* factors,
                   T* packed) {
  const int64_t taps = g.kernel_h * g.kernel_w;
  for (int64_t tap = 0; tap < taps; ++tap) {
    for (int64_t c = 0; c < g.in_c; ++c) {
      const T value = filter[c * taps + tap];
      packed[tap * g.in_c + c] =
          factors == nullptr ? value : static_cast<T>(value * factors[c]);
    }
  }
}

template <typename T>
void DepthwiseLast(const Conv2dGeometry& g,
                   const T* input,
                   const T* packed,
                   const T* bias,
                   const OutputChain<T>& chain,
                   T* output) {
  const Depthwise<T> work = {g, input, nullptr, bias, nullptr, output};
  const int64_t row_size = g.out_w * g.out_c;
  ParallelFor(g.n * g.out_h, Grain(g.out_w * g.filter_size()),
              [&](int64_t begin, int64_t end) {
                // A row is still in a cache when the chain reads it.
                const int64_t rows = chain.chain == nullptr ? end - begin : 1;
                for (int64_t row = begin; row < end; row += rows) {
                  ForwardRowsFor<T>()(work, packed, row, row + rows);
                  chain.Apply(row * row_size, rows * row_size, output);
                }
              });
}

template <typename T>
void DepthwiseLastGradInput(const Conv2dGeometry& g,
                            const T* filter,
                            const T* output_grad,
                            T* input_grad) {
  const Depthwise<T> work = {g,       nullptr,     filter,
                             nullptr, output_grad, input_grad};
  const int64_t runs = (g.in_c + kDepthwiseChannels - 1) / kDepthwiseChannels;
  ParallelFor(g.n * runs, Grain(g.out_pixels() * g.filter_size() / runs),
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                  const int64_t c = i % runs * kDepthwiseChannels;
                  GradInputImageFor<T>()(
                      work, i / runs, c,
                      HWY_MIN(kDepthwiseChannels, g.in_c - c));
                }
              });
}

template <typename T>
void DepthwiseLastGradFilter(const Conv2dGeometry& g,
                             const T* input,
                             const T* output_grad,
                             T* filter_grad) {
  const Depthwise<T> work = {g,       input,       nullptr,
                             nullptr, output_grad, filter_grad};
  const int64_t taps = g.kernel_h * g.kernel_w;
  ParallelFor(taps, Grain(g.n * g.out_pixels() * g.out_c),
              [&](int64_t begin, int64_t end) {
                for (int64_t tap = begin; tap < end; ++tap) {
                  ForEachRun(g.out_c, [&](int64_t c, int64_t count) {
                    GradFilterTapFor<T>()(work, tap, c, count);
                  });
                }
              });
}

SLUICE_INSTANTIATE_FLOATS(PackDepthwise);
SLUICE_INSTANTIATE_FLOATS(DepthwiseLast);
SLUICE_INSTANTIATE_FLOATS(DepthwiseLastGradInput);
SLUICE_INSTANTIATE_FLOATS(DepthwiseLastGradFilter);

}  // namespace sluice
#endif  // HWY_ONCE
