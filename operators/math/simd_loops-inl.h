// Loops over contiguous elements. Compiled for every instruction set: include
// this after hwy/highway.h, once for each.
#if defined(SLUICE_SIMD_LOOPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#if defined(HWY_TARGET_TOGGLE)
#undef SLUICE_SIMD_LOOPS_INL_H_
#else
#define SLUICE_SIMD_LOOPS_INL_H_
#endif

#include <cstdint>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace sluice {
namespace HWY_NAMESPACE {

// Stores the vector step(d, i) at out + i, from i on, while kN elements remain.
// Vectors do not overlap, as out may be an input.
template <int64_t kN, typename T, class Step>
HWY_INLINE int64_t ForEach(const Step& step, int64_t i, int64_t count, T* out) {
  const hwy::HWY_NAMESPACE::CappedTag<T, kN> d;
  constexpr int64_t kLanes = hwy::HWY_NAMESPACE::MaxLanes(d);
  for (; i + kLanes <= count; i += kLanes) {
    hwy::HWY_NAMESPACE::StoreU(step(d, i), d, out + i);
  }
  return i;
}

// Handles all of [0, count), with low overhead for a few elements.
template <typename T, class Step>
HWY_INLINE void ForEachElement(const Step& step, int64_t count, T* out) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = hn::MaxLanes(d);
  int64_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    const auto a = step(d, i);
    const auto b = step(d, i + kLanes);
    hn::StoreU(a, d, out + i);
    hn::StoreU(b, d, out + i + kLanes);
  }
  i = ForEach<kLanes>(step, i, count, out);
  if (i == count) return;
  if constexpr (kLanes > 8) i = ForEach<8>(step, i, count, out);
  if constexpr (kLanes > 4) i = ForEach<4>(step, i, count, out);
  ForEach<1>(step, i, count, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#endif  // per target
