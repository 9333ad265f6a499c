// Loads floats and doubles as vectors of doubles and sums them. Compiled for
// every instruction set: include this after hwy/highway.h, once for each.
#if defined(SLUICE_SIMD_DOUBLES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#if defined(HWY_TARGET_TOGGLE)
#undef SLUICE_SIMD_DOUBLES_INL_H_
#else
#define SLUICE_SIMD_DOUBLES_INL_H_
#endif

#include <cstdint>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace sluice {
namespace HWY_NAMESPACE {

template <class D>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> LoadDoubles(D d, const float* x) {
  const hwy::HWY_NAMESPACE::Rebind<float, D> d_float;
  return hwy::HWY_NAMESPACE::PromoteTo(d,
                                       hwy::HWY_NAMESPACE::LoadU(d_float, x));
}
template <class D>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> LoadDoubles(D d, const double* x) {
  return hwy::HWY_NAMESPACE::LoadU(d, x);
}

// Returns the sum over [0, count) of term(d, i), the vector of doubles from i
// on. It has four vectors of partial sums; the rest is added one by one.
template <class Term>
HWY_INLINE double SumOf(const Term& term, int64_t count) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<double> d;
  constexpr int64_t kLanes = hn::MaxLanes(d);
  auto sum0 = hn::Zero(d);
  auto sum1 = sum0;
  auto sum2 = sum0;
  auto sum3 = sum0;
  int64_t i = 0;
  for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
    sum0 = hn::Add(sum0, term(d, i));
    sum1 = hn::Add(sum1, term(d, i + kLanes));
    sum2 = hn::Add(sum2, term(d, i + 2 * kLanes));
    sum3 = hn::Add(sum3, term(d, i + 3 * kLanes));
  }
  for (; i + kLanes <= count; i += kLanes) {
    sum0 = hn::Add(sum0, term(d, i));
  }
  const auto sums = hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3));
  double sum = hn::GetLane(hn::SumOfLanes(d, sums));
  const hn::CappedTag<double, 1> one;
  for (; i < count; ++i) {
    sum += hn::GetLane(term(one, i));
  }
  return sum;
}

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#endif  // per target
