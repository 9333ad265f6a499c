#include "sluice/operators/math/reduction/extremes.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "sluice/platform/cpu/simd_dispatch.h"
#include "sluice/platform/dtype_sets.h"

HWY_BEFORE_NAMESPACE();
namespace sluice {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// `value` where it is better or NaN; a NaN in `best` stays.
template <bool kLargest, class V>
HWY_INLINE V Better(V value, V best) {
  const auto better = kLargest ? hn::Gt(value, best) : hn::Lt(value, best);
  return hn::IfThenElse(hn::Or(better, hn::IsNaN(value)), value, best);
}

template <bool kLargest, typename T>
HWY_INLINE T Extreme(const T* x, int64_t count) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = hn::MaxLanes(d);
  T best = *x;
  const auto take = [&best](T value) HWY_ATTR {
    const bool better = kLargest ? value > best : value < best;
    if (better || __builtin_isnan(value)) best = value;
  };
  if (count < kLanes) {
    for (int64_t i = 1; i < count; ++i) {
      take(x[i]);
    }
    return best;
  }
  // The last vector overlaps the one before.
  auto best0 = hn::LoadU(d, x + count - kLanes);
  auto best1 = best0;
  auto best2 = best0;
  auto best3 = best0;
  int64_t i = 0;
  for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
    best0 = Better<kLargest>(hn::LoadU(d, x + i), best0);
    best1 = Better<kLargest>(hn::LoadU(d, x + i + kLanes), best1);
    best2 = Better<kLargest>(hn::LoadU(d, x + i + 2 * kLanes), best2);
    best3 = Better<kLargest>(hn::LoadU(d, x + i + 3 * kLanes), best3);
  }
  for (; i + kLanes <= count; i += kLanes) {
    best0 = Better<kLargest>(hn::LoadU(d, x + i), best0);
  }
  best0 = Better<kLargest>(best1, best0);
  best2 = Better<kLargest>(best3, best2);
  HWY_ALIGN T lanes[kLanes];
  hn::Store(Better<kLargest>(best2, best0), d, lanes);
  best = lanes[0];
  for (const T lane : lanes) {
    take(lane);
  }
  return best;
}

template <typename T>
T Largest(const T* x, int64_t count) {
  return Extreme<true>(x, count);
}
template <typename T>
T Smallest(const T* x, int64_t count) {
  return Extreme<false>(x, count);
}

SLUICE_SIMD_FLOATS(Largest);
SLUICE_SIMD_FLOATS(Smallest);

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice {
namespace {

SLUICE_EXPORT_FLOATS(Largest);
SLUICE_EXPORT_FLOATS(Smallest);

}  // namespace

template <typename T>
T LargestOf(const T* x, int64_t count) {
  return LargestFor<T>()(x, count);
}
template <typename T>
T SmallestOf(const T* x, int64_t count) {
  return SmallestFor<T>()(x, count);
}
SLUICE_INSTANTIATE_FLOATS(LargestOf);
SLUICE_INSTANTIATE_FLOATS(SmallestOf);

}  // namespace sluice
#endif  // HWY_ONCE
