// Loads and stores partial vectors of T, for the ends of rows. Included once
// for every instruction set.
#if defined(SLUICE_OPERATORS_MATH_SIMD_PARTS_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef SLUICE_OPERATORS_MATH_SIMD_PARTS_INL_H_
#undef SLUICE_OPERATORS_MATH_SIMD_PARTS_INL_H_
#else
#define SLUICE_OPERATORS_MATH_SIMD_PARTS_INL_H_
#endif

#include <cstdint>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace sluice {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
using Tag = hn::ScalableTag<T>;
template <typename T>
using V = hn::Vec<Tag<T>>;
template <typename T>
constexpr int64_t kLanes = hn::MaxLanes(Tag<T>());

// Loads `count` values from p; the lanes after them are `rest`.
template <typename T>
HWY_INLINE V<T> LoadPart(const T* p, int64_t count, T rest) {
  const Tag<T> d;
  if (count >= kLanes<T>) return hn::LoadU(d, p);
#if HWY_TARGET <= HWY_AVX2
  const auto mask = hn::FirstN(d, static_cast<size_t>(count));
  return hn::IfThenElse(mask, hn::MaskedLoad(mask, d, p), hn::Set(d, rest));
#else
  HWY_ALIGN T lanes[hn::MaxLanes(d)];
  for (int64_t l = 0; l < kLanes<T>; ++l) {
    lanes[l] = l < count ? p[l] : rest;
  }
  return hn::Load(d, lanes);
#endif
}

// Stores the first `count` lanes to p[:count].
template <typename T>
HWY_INLINE void StorePart(V<T> v, T* p, int64_t count) {
  const Tag<T> d;
  if (count >= kLanes<T>) return hn::StoreU(v, d, p);
#if HWY_TARGET <= HWY_AVX2
  hn::BlendedStore(v, hn::FirstN(d, static_cast<size_t>(count)), d, p);
#else
  HWY_ALIGN T lanes[hn::MaxLanes(d)];
  hn::Store(v, d, lanes);
  for (int64_t l = 0; l < count; ++l) {
    p[l] = lanes[l];
  }
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#endif  // per target
