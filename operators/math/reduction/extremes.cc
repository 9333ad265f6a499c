#include "sluice/operators/math/reduction/extremes.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "sluice/platform/cpu/simd_dispatch.h"
#include "sluice/platform/dtype_sets.h"

HWY_BEFORE_NAMESPACE();
namespace sluice {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <bool kLargest, class V>
HWY_INLINE V Better(V a, V b) {
  return kLargest ? hn::Max(a, b) : hn::Min(a, b);
}

// The best of some vectors, and whether there was a NaN: what Max and Min make
// of one differs between instruction sets.
template <bool kLargest, class D>
struct Best {
  using V = hn::Vec<D>;
  const D d;
  V best;
  hn::Mask<D> nan;

  explicit HWY_INLINE Best(V first) : best(first), nan(hn::IsNaN(first)) {}
  HWY_INLINE void Add(V value) {
    best = Better<kLargest>(best, value);
    nan = hn::Or(nan, hn::IsNaN(value));
  }
  HWY_INLINE void Merge(const Best& other) {
    best = Better<kLargest>(best, other.best);
    nan = hn::Or(nan, other.nan);
  }
  HWY_INLINE hn::TFromD<D> Result() const {
    if (HWY_UNLIKELY(!hn::AllFalse(d, nan))) return hn::GetLane(hn::NaN(d));
    return hn::GetLane(kLargest ? hn::MaxOfLanes(d, best)
                                : hn::MinOfLanes(d, best));
  }
};

template <bool kLargest, typename T>
HWY_INLINE T Extreme(const T* x, int64_t count) {
  using D = hn::ScalableTag<T>;
  const D d;
  constexpr int64_t kLanes = hn::MaxLanes(d);
  if (count < kLanes) {
    T best = *x;
    for (int64_t i = 1; i < count; ++i) {
      const bool better = kLargest ? x[i] > best : x[i] < best;
      if (better || __builtin_isnan(x[i])) best = x[i];
    }
    return best;
  }
  // The last vector overlaps the one before.
  Best<kLargest, D> best0(hn::LoadU(d, x + count - kLanes));
  int64_t i = 0;
  if (count >= 8 * kLanes) {  // each waits for the one before
    Best<kLargest, D> best1 = best0, best2 = best0, best3 = best0;
    for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
      best0.Add(hn::LoadU(d, x + i));
      best1.Add(hn::LoadU(d, x + i + kLanes));
      best2.Add(hn::LoadU(d, x + i + 2 * kLanes));
      best3.Add(hn::LoadU(d, x + i + 3 * kLanes));
    }
    best2.Merge(best3);
    best0.Merge(best1);
    best0.Merge(best2);
  }
  for (; i + kLanes <= count; i += kLanes) {
    best0.Add(hn::LoadU(d, x + i));
  }
  return best0.Result();
}

template <typename T>
T Largest(const T* x, int64_t count) {
  return Extreme<true>(x, count);
}
template <typename T>
T Smallest(const T* x, int64_t count) {
  return Extreme<false>(x, count);
}

// Takes the vectors of columns from j on while enough columns remain.
template <bool kLargest, class D, typename T>
HWY_INLINE int64_t TakeColumns(
    D d, const T* const (&rows)[4], int64_t j, int64_t columns, T* best) {
  constexpr int64_t kLanes = hn::MaxLanes(d);
  for (; j + kLanes <= columns; j += kLanes) {
    auto found = hn::LoadU(d, best + j);
    HWY_UNROLL(4)
    for (const T* row : rows) {
      const auto value = hn::LoadU(d, row + j);
      const auto better =
          kLargest ? hn::Gt(value, found) : hn::Lt(value, found);
      found = hn::IfThenElse(hn::Or(better, hn::IsNaN(value)), value, found);
    }
    hn::StoreU(found, d, best + j);
  }
  return j;
}

template <typename T>
void FourRows(bool largest,
              const T* const (&rows)[4],
              int64_t columns,
              T* best) {
  const hn::ScalableTag<T> d;
  const hn::CappedTag<T, 1> one;
  if (largest) {
    const int64_t j = TakeColumns<true>(d, rows, 0, columns, best);
    TakeColumns<true>(one, rows, j, columns, best);
  } else {
    const int64_t j = TakeColumns<false>(d, rows, 0, columns, best);
    TakeColumns<false>(one, rows, j, columns, best);
  }
}

SLUICE_SIMD_FLOATS(Largest);
SLUICE_SIMD_FLOATS(Smallest);
SLUICE_SIMD_FLOATS(FourRows);

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice {
namespace {

SLUICE_EXPORT_FLOATS(Largest);
SLUICE_EXPORT_FLOATS(Smallest);
SLUICE_EXPORT_FLOATS(FourRows);

}  // namespace

template <typename T>
T LargestOf(const T* x, int64_t count) {
  return LargestFor<T>()(x, count);
}
template <typename T>
T SmallestOf(const T* x, int64_t count) {
  return SmallestFor<T>()(x, count);
}
template <typename T>
void TakeFourRows(bool largest,
                  const T* const (&rows)[4],
                  int64_t columns,
                  T* best) {
  FourRowsFor<T>()(largest, rows, columns, best);
}
SLUICE_INSTANTIATE_FLOATS(TakeFourRows);
SLUICE_INSTANTIATE_FLOATS(LargestOf);
SLUICE_INSTANTIATE_FLOATS(SmallestOf);

}  // namespace sluice
#endif  // HWY_ONCE
