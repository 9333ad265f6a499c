#include "sluice/operators/math/distance/manhattan_distance.h"

// Works on slabs of features, one vector wide, which are independent of each
// other. In a slab, a few rows of x and gx stay in registers during the loop
// over the rows of y; a packed block of y and gy stays in the first-level
// cache. Each pair of rows is compared once for both gradients.
//
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "sluice/platform/cancel.h"
#include "sluice/platform/cpu/simd_dispatch.h"
#include "sluice/platform/dtype_sets.h"
#include "sluice/platform/parallel_for.h"

#ifndef SLUICE_MANHATTAN_DISTANCE_SIDES
#define SLUICE_MANHATTAN_DISTANCE_SIDES
namespace sluice {

// The arguments for gx and, unless it is null, gy, for all i < n, j < m, k < p.
// The weight of (i, j) is g[i * g_row + j * g_column].
template <typename T>
struct ManhattanSides {
  const T* x;
  const T* y;
  const T* g;
  int64_t g_row, g_column;
  T* gx;
  T* gy;
  int64_t n, m, p;
};

}  // namespace sluice
#endif

HWY_BEFORE_NAMESPACE();
namespace sluice {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The terms that are summed one by one: the rounding error grows with them.
constexpr int64_t kBlock = 128;
#if HWY_TARGET <= HWY_AVX3
constexpr int kMaxRows = 8;
#else
constexpr int kMaxRows = 4;
#endif

template <typename T>
using Tag = hn::ScalableTag<T>;
template <typename T>
constexpr int64_t kLanes = hn::MaxLanes(Tag<T>());

// Copies `rows` rows of `width` <= kLanes values to vectors, zeros after them.
template <typename T>
HWY_INLINE void Gather(const T* from,
                       int64_t stride,
                       int64_t rows,
                       int64_t width,
                       T* HWY_RESTRICT to) {
  const Tag<T> d;
  for (int64_t i = 0; i < rows; ++i, from += stride, to += kLanes<T>) {
    if (width == kLanes<T>) {
      hn::Store(hn::LoadU(d, from), d, to);
    } else {
      for (int64_t l = 0; l < kLanes<T>; ++l) {
        to[l] = l < width ? from[l] : T{0};
      }
    }
  }
}

// The reverse of Gather. It adds to the values there, or replaces them.
template <typename T>
HWY_INLINE void Scatter(const T* HWY_RESTRICT from,
                        int64_t rows,
                        int64_t width,
                        T* to,
                        int64_t stride,
                        bool add) {
  const Tag<T> d;
  for (int64_t i = 0; i < rows; ++i, from += kLanes<T>, to += stride) {
    if (width == kLanes<T>) {
      const auto value = hn::Load(d, from);
      hn::StoreU(add ? hn::Add(hn::LoadU(d, to), value) : value, d, to);
    } else {
      for (int64_t l = 0; l < width; ++l) {
        to[l] = add ? to[l] + from[l] : from[l];
      }
    }
  }
}

// Returns weight * sign(x - y), and 0 if the difference is 0 or NaN.
#if HWY_TARGET <= HWY_AVX3
// This takes three instructions. The portable form takes five, and four of them
// compete for the same port.
template <class D, class V>
HWY_INLINE V Signed(D d, V weight, V x, V y) {
  const V difference = hn::Sub(x, y), sign = hn::SignBit(d);
  constexpr int kWeightXorDifferenceAndSign = 0x78;
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    return V{_mm512_castsi512_ps(_mm512_maskz_ternarylogic_epi32(
        _mm512_cmp_ps_mask(x.raw, y.raw, _CMP_NEQ_OQ),
        _mm512_castps_si512(weight.raw), _mm512_castps_si512(difference.raw),
        _mm512_castps_si512(sign.raw), kWeightXorDifferenceAndSign))};
  } else {
    return V{_mm512_castsi512_pd(_mm512_maskz_ternarylogic_epi64(
        _mm512_cmp_pd_mask(x.raw, y.raw, _CMP_NEQ_OQ),
        _mm512_castpd_si512(weight.raw), _mm512_castpd_si512(difference.raw),
        _mm512_castpd_si512(sign.raw), kWeightXorDifferenceAndSign))};
  }
}
#else
template <class D, class V>
HWY_INLINE V Signed(D, V weight, V x, V y) {
  return hn::Sub(hn::IfThenElseZero(hn::Gt(x, y), weight),
                 hn::IfThenElseZero(hn::Lt(x, y), weight));
}
#endif

// Handles kR rows of x (packed, like gx) and `columns` rows of a packed block.
template <typename T, int kR, bool kBoth>
HWY_INLINE void Rows(const T* HWY_RESTRICT x,
                     const T* HWY_RESTRICT y,
                     const T* HWY_RESTRICT g,
                     int64_t g_row,
                     int64_t g_column,
                     int64_t columns,
                     T* HWY_RESTRICT gx,
                     T* HWY_RESTRICT gy) {
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  V x_rows[kR], sums[kR];
  HWY_UNROLL(8)
  for (int a = 0; a < kR; ++a) {
    x_rows[a] = hn::Load(d, x + a * kLanes<T>);
    sums[a] = hn::Zero(d);
  }
  for (int64_t j = 0; j < columns; ++j) {
    const V y_row = hn::Load(d, y + j * kLanes<T>);
    V other = hn::Zero(d);
    if constexpr (kBoth) other = hn::Load(d, gy + j * kLanes<T>);
    HWY_UNROLL(8)
    for (int a = 0; a < kR; ++a) {
      const V weight = hn::Set(d, g[a * g_row + j * g_column]);
      const V change = Signed(d, weight, x_rows[a], y_row);
      sums[a] = hn::Add(sums[a], change);
      if constexpr (kBoth) other = hn::Sub(other, change);
    }
    if constexpr (kBoth) hn::Store(other, d, gy + j * kLanes<T>);
  }
  HWY_UNROLL(8)
  for (int a = 0; a < kR; ++a) {
    hn::Store(sums[a], d, gx + a * kLanes<T>);
  }
}

// Handles up to kMaxRows rows of x, in the largest groups that have a template.
template <typename T, bool kBoth>
HWY_NOINLINE void SomeRows(int64_t rows,
                           const T* x,
                           const T* y,
                           const T* g,
                           int64_t g_row,
                           int64_t g_column,
                           int64_t columns,
                           T* gx,
                           T* gy) {
  int64_t i = 0;
  for (; i + kMaxRows <= rows; i += kMaxRows) {
    Rows<T, kMaxRows, kBoth>(x + i * kLanes<T>, y, g + i * g_row, g_row,
                             g_column, columns, gx + i * kLanes<T>, gy);
  }
  for (; i + 2 <= rows; i += 2) {
    Rows<T, 2, kBoth>(x + i * kLanes<T>, y, g + i * g_row, g_row, g_column,
                      columns, gx + i * kLanes<T>, gy);
  }
  if (i < rows) {
    Rows<T, 1, kBoth>(x + i * kLanes<T>, y, g + i * g_row, g_row, g_column,
                      columns, gx + i * kLanes<T>, gy);
  }
}

// Handles rows [begin, end) of x and features [k, k + width). With kBoth it
// also computes gy, which requires all rows.
template <typename T, bool kBoth>
void Slab(const ManhattanSides<T>& s,
          int64_t begin,
          int64_t end,
          int64_t k,
          int64_t width) {
  HWY_ALIGN T x[kBlock * kLanes<T>];
  HWY_ALIGN T gx[kBlock * kLanes<T>];
  HWY_ALIGN T y[kBlock * kLanes<T>];
  HWY_ALIGN T gy[kBlock * kLanes<T>];
  const Tag<T> d;
  for (int64_t j = 0; j < s.m; j += kBlock) {
    const int64_t columns = HWY_MIN(kBlock, s.m - j);
    Gather(s.y + j * s.p + k, s.p, columns, width, y);
    for (int64_t i = begin; i < end; i += kBlock) {
      const int64_t rows = HWY_MIN(kBlock, end - i);
      Gather(s.x + i * s.p + k, s.p, rows, width, x);
      if constexpr (kBoth) {
        for (int64_t l = 0; l < columns; ++l) {
          hn::Store(hn::Zero(d), d, gy + l * kLanes<T>);
        }
      }
      SomeRows<T, kBoth>(rows, x, y, s.g + i * s.g_row + j * s.g_column,
                         s.g_row, s.g_column, columns, gx, gy);
      Scatter(gx, rows, width, s.gx + i * s.p + k, s.p, j > 0);
      if constexpr (kBoth) {
        Scatter(gy, columns, width, s.gy + j * s.p + k, s.p, i > 0);
      }
    }
  }
}

// Computes both gradients of slabs [begin, end).
template <typename T>
void BothSides(const ManhattanSides<T>& s, int64_t begin, int64_t end) {
  for (int64_t k = begin * kLanes<T>; k < HWY_MIN(end * kLanes<T>, s.p);
       k += kLanes<T>) {
    Slab<T, true>(s, 0, s.n, k, HWY_MIN(kLanes<T>, s.p - k));
  }
}

// Computes gx of rows [begin, end).
template <typename T>
void OneSide(const ManhattanSides<T>& s, int64_t begin, int64_t end) {
  for (int64_t k = 0; k < s.p; k += kLanes<T>) {
    Slab<T, false>(s, begin, end, k, HWY_MIN(kLanes<T>, s.p - k));
  }
}

int64_t VectorBytes() {
  return kLanes<float> * sizeof(float);
}

SLUICE_SIMD_FLOATS(BothSides);
SLUICE_SIMD_FLOATS(OneSide);

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice {
namespace {

SLUICE_EXPORT_FLOATS(BothSides);
SLUICE_EXPORT_FLOATS(OneSide);
HWY_EXPORT(VectorBytes);

// With fewer pairs, a second thread costs more than it saves.
constexpr int64_t kPairsPerThread = 200'000;

template <typename T>
void RunOneParallel(const ManhattanSides<T>& s) {
  const auto run = OneSideFor<T>();
  const int64_t grain = 8 + kPairsPerThread / (s.m * s.p);
  ParallelFor(s.n, grain, [&](int64_t begin, int64_t end) {
    InPieces(begin, end, 64 * grain,
             [&](int64_t first, int64_t last) { run(s, first, last); });
  });
}

template <typename T>
void Zero(T* to, int64_t count) {
  for (int64_t i = 0; to != nullptr && i < count; ++i) {
    to[i] = T{0};
  }
}

}  // namespace

template <typename T>
void ManhattanDistanceGradBlocked(const T* x,
                                  const T* y,
                                  const T* gz,
                                  T* gx,
                                  T* gy,
                                  int64_t n,
                                  int64_t m,
                                  int64_t p) {
  if (n <= 0 || m <= 0 || p <= 0) {
    Zero(gx, n * p);
    Zero(gy, m * p);
    return;
  }
  const ManhattanSides<T> sides{x, y, gz, m, 1, gx, gy, n, m, p};
  // d|x - y|/dy is sign(y - x): the same sum with x and y exchanged.
  const ManhattanSides<T> exchanged{y, x, gz, 1, m, gy, nullptr, m, n, p};
  const int64_t lanes = HWY_DYNAMIC_DISPATCH(VectorBytes)() / sizeof(T);
  const int64_t slabs = (p + lanes - 1) / lanes;
  const int64_t threads = NumThreads();
  // Both gradients at once take 5 instructions a vector, and threads share
  // slabs; separately 4 + 4, and threads share rows. The bits are equal.
  const int64_t rounds = (slabs + threads - 1) / threads;
  if (gx != nullptr && gy != nullptr && 5 * rounds * threads <= 8 * slabs) {
    const auto run = BothSidesFor<T>();
    const int64_t grain = 1 + kPairsPerThread / (n * m * lanes);
    ParallelFor(slabs, grain,
                [&](int64_t begin, int64_t end) { run(sides, begin, end); });
    return;
  }
  if (gx != nullptr) RunOneParallel(sides);
  if (gy != nullptr) RunOneParallel(exchanged);
}

SLUICE_INSTANTIATE_FLOATS(ManhattanDistanceGradBlocked);

}  // namespace sluice
#endif  // HWY_ONCE
