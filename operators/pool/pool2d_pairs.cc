#include "sluice/operators/pool/pool2d_pairs.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "sluice/platform/cpu/simd_dispatch.h"
#include "sluice/platform/dtype_sets.h"
#include "sluice/platform/parallel_for.h"

#ifndef SLUICE_POOL2D_PAIRS
#define SLUICE_POOL2D_PAIRS
namespace sluice {

// `count` windows, or channels of one window. With channels last, pixel k of a
// window is at pixels[k]. Otherwise pixels 0 and 1 are adjacent at pixels[0],
// and pixels 2 and 3 at pixels[2].
template <typename T>
struct PairRun {
  const T* pixels[4];
  const T* out;
  const T* grad;
  T* to[4];  // gradients of `pixels`, or the output at to[0]
  int64_t count;
  bool relu;
};

}  // namespace sluice
#endif

HWY_BEFORE_NAMESPACE();
namespace sluice {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <bool kLast, class D, typename T, class V>
HWY_INLINE void LoadPixels(D d, const PairRun<T>& run, int64_t i, V* v) {
  if constexpr (kLast) {
    v[0] = hn::LoadU(d, run.pixels[0] + i);
    v[1] = hn::LoadU(d, run.pixels[1] + i);
    v[2] = hn::LoadU(d, run.pixels[2] + i);
    v[3] = hn::LoadU(d, run.pixels[3] + i);
  } else {
    hn::LoadInterleaved2(d, run.pixels[0] + 2 * i, v[0], v[1]);
    hn::LoadInterleaved2(d, run.pixels[2] + 2 * i, v[2], v[3]);
  }
}

// Handles whole vectors of elements from i on. Returns the next element.
template <bool kLast, class D, typename T>
HWY_INLINE int64_t MaxVectors(D d, int64_t i, const PairRun<T>& run) {
  using V = hn::Vec<D>;
  constexpr int64_t kLanes = hn::MaxLanes(d);
  for (; i + kLanes <= run.count; i += kLanes) {
    V v[4];
    LoadPixels<kLast>(d, run, i, v);
    V best = v[0];
    HWY_UNROLL(3)
    for (int k = 1; k < 4; ++k) {
      best = hn::IfThenElse(hn::Or(hn::Gt(v[k], best), hn::IsNaN(v[k])), v[k],
                            best);
    }
    if (run.relu) best = hn::IfThenZeroElse(hn::Le(best, hn::Zero(d)), best);
    hn::StoreU(best, d, run.to[0] + i);
  }
  return i;
}

template <bool kLast, typename T>
HWY_INLINE const T& Pixel(const PairRun<T>& run, int k, int64_t i) {
  return kLast ? run.pixels[k][i] : run.pixels[k & 2][2 * i + (k & 1)];
}

template <bool kLast, typename T>
HWY_INLINE void MaxRun(const PairRun<T>& run) {
  int64_t i = MaxVectors<kLast>(hn::ScalableTag<T>(), 0, run);
  i = MaxVectors<kLast>(hn::CappedTag<T, 32 / sizeof(T)>(), i, run);
  i = MaxVectors<kLast>(hn::CappedTag<T, 16 / sizeof(T)>(), i, run);
  for (; i < run.count; ++i) {
    T best = Pixel<kLast>(run, 0, i);
    for (int k = 1; k < 4; ++k) {
      const T value = Pixel<kLast>(run, k, i);
      best = value > best || __builtin_isnan(value) ? value : best;
    }
    run.to[0][i] = run.relu && best <= 0 ? T{0} : best;
  }
}

// The gradient passes to the first pixel that equals the maximum.
template <bool kLast, class D, typename T>
HWY_INLINE int64_t GradVectors(D d, int64_t i, const PairRun<T>& run) {
  using V = hn::Vec<D>;
  constexpr int64_t kLanes = hn::MaxLanes(d);
  for (; i + kLanes <= run.count; i += kLanes) {
    V v[4];
    LoadPixels<kLast>(d, run, i, v);
    const V best = hn::LoadU(d, run.out + i);
    const auto nan = hn::IsNaN(best);
    V left = hn::LoadU(d, run.grad + i);
    if (run.relu) left = hn::IfThenZeroElse(hn::Le(best, hn::Zero(d)), left);
    HWY_UNROLL(4)
    for (int k = 0; k < 4; ++k) {
      const auto same =
          hn::Or(hn::Eq(v[k], best), hn::And(nan, hn::IsNaN(v[k])));
      v[k] = hn::IfThenElseZero(same, left);
      left = hn::IfThenZeroElse(same, left);
    }
    if constexpr (kLast) {
      hn::StoreU(v[0], d, run.to[0] + i);
      hn::StoreU(v[1], d, run.to[1] + i);
      hn::StoreU(v[2], d, run.to[2] + i);
      hn::StoreU(v[3], d, run.to[3] + i);
    } else {
      hn::StoreInterleaved2(v[0], v[1], d, run.to[0] + 2 * i);
      hn::StoreInterleaved2(v[2], v[3], d, run.to[2] + 2 * i);
    }
  }
  return i;
}

template <bool kLast, typename T>
HWY_INLINE void GradRun(const PairRun<T>& run) {
  int64_t i = GradVectors<kLast>(hn::ScalableTag<T>(), 0, run);
  i = GradVectors<kLast>(hn::CappedTag<T, 32 / sizeof(T)>(), i, run);
  i = GradVectors<kLast>(hn::CappedTag<T, 16 / sizeof(T)>(), i, run);
  for (; i < run.count; ++i) {
    const T best = run.out[i];
    T left = run.relu && best <= 0 ? T{0} : run.grad[i];
    for (int k = 0; k < 4; ++k) {
      const T value = Pixel<kLast>(run, k, i);
      const bool same =
          value == best || (__builtin_isnan(value) && __builtin_isnan(best));
      T& to = kLast ? run.to[k][i] : run.to[k & 2][2 * i + (k & 1)];
      to = same ? left : T{0};
      if (same) left = T{0};
    }
  }
}

// The tensors whose rows of windows are processed.
template <typename T>
struct PairRows {
  const Pool2dGeometry& g;
  const T* x;
  const T* out;
  const T* grad;
  T* to;
};

template <bool kLast, bool kGrad, typename T>
HWY_INLINE void Row(const PairRows<T>& rows, int64_t image, int64_t oh) {
  const Pool2dGeometry& g = rows.g;
  const int64_t c = kLast ? g.c : 1;
  const int64_t in = (image * g.in_h + 2 * oh) * g.in_w * c;
  const int64_t first = (image * g.out_h + oh) * g.out_w * c;
  PairRun<T> run;
  run.count = kLast ? c : g.out_w;
  run.relu = g.relu;
  for (int k = 0; k < 4; ++k) {
    const int64_t at = in + ((k / 2) * g.in_w + (kLast ? k % 2 : 0)) * c;
    run.pixels[k] = rows.x + at;
    run.to[k] = kGrad ? rows.to + at : rows.to + first;
  }
  run.out = rows.out + first;
  run.grad = rows.grad + first;
  const int64_t windows = kLast ? g.out_w : 1;
  for (int64_t w = 0; w < windows; ++w) {
    if constexpr (kGrad) {
      GradRun<kLast>(run);
    } else {
      MaxRun<kLast>(run);
    }
    for (int k = 0; k < 4; ++k) {
      run.pixels[k] += 2 * c;
      run.to[k] += kGrad ? 2 * c : c;
    }
    run.out += c;
    run.grad += c;
  }
}

// Clears the pixels of x_grad that no window contains: at the end of both rows,
// and the rows after the last windows.
template <typename T>
HWY_INLINE void ClearRest(const PairRows<T>& rows,
                          int64_t c,
                          int64_t image,
                          int64_t oh) {
  const Pool2dGeometry& g = rows.g;
  T* row = rows.to + (image * g.in_h + 2 * oh) * g.in_w * c;
  for (int k = 0; k < 2; ++k, row += g.in_w * c) {
    for (int64_t i = 2 * g.out_w * c; i < g.in_w * c; ++i) {
      row[i] = T{0};
    }
  }
  if (oh + 1 < g.out_h) return;
  for (int64_t i = 0; i < (g.in_h - 2 * g.out_h) * g.in_w * c; ++i) {
    row[i] = T{0};
  }
}

template <typename T>
HWY_INLINE void Forward(
    const Pool2dGeometry& g, const T* x, T* out, int64_t begin, int64_t end) {
  const PairRows<T> rows = {g, x, out, x, out};
  for (int64_t i = begin; i < end; ++i) {
    if (g.nhwc) {
      Row<true, false>(rows, i / g.out_h, i % g.out_h);
    } else {
      Row<false, false>(rows, i / g.out_h, i % g.out_h);
    }
  }
}

template <typename T>
HWY_INLINE void Backward(const Pool2dGeometry& g,
                         const T* x,
                         const T* out,
                         const T* grad,
                         T* x_grad,
                         int64_t begin,
                         int64_t end) {
  const PairRows<T> rows = {g, x, out, grad, x_grad};
  for (int64_t i = begin; i < end; ++i) {
    if (g.nhwc) {
      Row<true, true>(rows, i / g.out_h, i % g.out_h);
    } else {
      Row<false, true>(rows, i / g.out_h, i % g.out_h);
    }
    ClearRest(rows, g.nhwc ? g.c : 1, i / g.out_h, i % g.out_h);
  }
}

SLUICE_SIMD_FLOATS(Forward);
SLUICE_SIMD_FLOATS(Backward);

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice {
namespace {

SLUICE_EXPORT_FLOATS(Forward);
SLUICE_EXPORT_FLOATS(Backward);

// Calls body(begin, end) for rows of windows of all planes or images.
template <typename Body>
void ForEachRow(const Pool2dGeometry& g, const Body& body) {
  const int64_t rows = (g.nhwc ? g.n : g.n * g.c) * g.out_h;
  const int64_t work = g.out_w * (g.nhwc ? g.c : 1) + 1;
  ParallelFor(rows, 1 + 30'000 / work, body);
}

}  // namespace

template <typename T>
void MaxOfPairs(const Pool2dGeometry& g, const T* x, T* out) {
  const auto run = ForwardFor<T>();
  ForEachRow(g,
             [&](int64_t begin, int64_t end) { run(g, x, out, begin, end); });
}
template <typename T>
void MaxOfPairsGrad(const Pool2dGeometry& g,
                    const T* x,
                    const T* out,
                    const T* out_grad,
                    T* x_grad) {
  const auto run = BackwardFor<T>();
  ForEachRow(g, [&](int64_t begin, int64_t end) {
    run(g, x, out, out_grad, x_grad, begin, end);
  });
}
SLUICE_INSTANTIATE_FLOATS(MaxOfPairs);
SLUICE_INSTANTIATE_FLOATS(MaxOfPairsGrad);

}  // namespace sluice
#endif  // HWY_ONCE
