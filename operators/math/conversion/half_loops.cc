#include "sluice/operators/math/conversion/half_loops.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "sluice/operators/math/half_conversions.h"

HWY_BEFORE_NAMESPACE();
namespace sluice {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Returns how many elements are converted: with AVX2 the CPU has instructions
// for them.
int64_t WidenVectors([[maybe_unused]] const float16* from,
                     [[maybe_unused]] int64_t count,
                     [[maybe_unused]] float* to) {
  int64_t i = 0;
#if HWY_TARGET <= HWY_AVX2
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> half;
  constexpr int64_t kLanes = hn::MaxLanes(d);
  const auto* halves = reinterpret_cast<const hwy::float16_t*>(from);
  for (; i + kLanes <= count; i += kLanes) {
    hn::StoreU(hn::PromoteTo(d, hn::LoadU(half, halves + i)), d, to + i);
  }
#endif
  return i;
}

int64_t NarrowVectors([[maybe_unused]] const float* from,
                      [[maybe_unused]] int64_t count,
                      [[maybe_unused]] float16* to) {
  int64_t i = 0;
#if HWY_TARGET <= HWY_AVX2
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> half;
  constexpr int64_t kLanes = hn::MaxLanes(d);
  auto* halves = reinterpret_cast<hwy::float16_t*>(to);
  for (; i + kLanes <= count; i += kLanes) {
    hn::StoreU(hn::DemoteTo(half, hn::LoadU(d, from + i)), half, halves + i);
  }
#endif
  return i;
}

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice {

HWY_EXPORT(WidenVectors);
HWY_EXPORT(NarrowVectors);

void WidenHalves(const float16* from, int64_t count, float* to) {
  int64_t i = HWY_DYNAMIC_DISPATCH(WidenVectors)(from, count, to);
  for (; i < count; ++i) {
    to[i] = Widen(from[i]);
  }
}

void NarrowToHalves(const float* from, int64_t count, float16* to) {
  int64_t i = HWY_DYNAMIC_DISPATCH(NarrowVectors)(from, count, to);
  for (; i < count; ++i) {
    to[i] = Narrow<float16>(from[i]);
  }
}

}  // namespace sluice
#endif  // HWY_ONCE
