#include "sluice/operators/math/conv/conv2d_depthwise.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "sluice/platform/cpu/simd_dispatch.h"
#include "sluice/platform/dtype_sets.h"
#include "sluice/platform/parallel_for.h"

#ifndef SLUICE_CONV2D_DEPTHWISE
#define SLUICE_CONV2D_DEPTHWISE
namespace sluice {

// The channels of a shard, and the maximum number of elements of a filter.
constexpr int64_t kDepthwiseChannels = 64;
constexpr int64_t kDepthwiseTaps = 128;

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

template <typename T>
struct ForwardTap {
  HWY_INLINE void operator()(int64_t tap, int64_t pixel) const {
    MulAddRun(count, input + pixel * channels,
              packed + tap * kDepthwiseChannels, sums);
  }
  int64_t count, channels;
  const T* input;
  const T* packed;
  T* sums;
};

// Computes channels [c, c + count) of output rows [begin, end) of all images.
template <typename T>
HWY_INLINE void ForwardRows(const Depthwise<T>& work,
                            int64_t c,
                            int64_t count,
                            int64_t begin,
                            int64_t end) {
  const Conv2dGeometry& g = work.g;
  T packed[kDepthwiseTaps * kDepthwiseChannels];
  PackTaps(g, work.filter, c, count, packed);
  T sums[kDepthwiseChannels];
  for (int64_t row = begin; row < end; ++row) {
    const int64_t n = row / g.out_h, oh = row % g.out_h;
    const ForwardTap<T> tap = {count, g.in_c,
                               work.input + n * g.in_h * g.in_w * g.in_c + c,
                               packed, sums};
    for (int64_t ow = 0; ow < g.out_w; ++ow) {
      for (int64_t i = 0; i < count; ++i) {
        sums[i] = work.bias != nullptr ? work.bias[c + i] : T{0};
      }
      ForEachTap(g, oh, ow, tap);
      T* to = work.to + (row * g.out_w + ow) * g.out_c + c;
      for (int64_t i = 0; i < count; ++i) {
        to[i] = sums[i];
      }
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
void DepthwiseLast(const Conv2dGeometry& g,
                   const T* input,
                   const T* filter,
                   const T* bias,
                   T* output) {
  const Depthwise<T> work = {g, input, filter, bias, nullptr, output};
  ParallelFor(g.n * g.out_h, Grain(g.out_w * g.filter_size()),
              [&](int64_t begin, int64_t end) {
                ForEachRun(g.out_c, [&](int64_t c, int64_t count) {
                  ForwardRowsFor<T>()(work, c, count, begin, end);
                });
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

SLUICE_INSTANTIATE_FLOATS(DepthwiseLast);
SLUICE_INSTANTIATE_FLOATS(DepthwiseLastGradInput);
SLUICE_INSTANTIATE_FLOATS(DepthwiseLastGradFilter);

}  // namespace sluice
#endif  // HWY_ONCE
