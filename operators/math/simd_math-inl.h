// Elementary functions of a vector of float or double. For files that are
// compiled for every instruction set (design/kernels.md): include this after
// hwy/highway.h, once for each.
#if defined(SLUICE_SIMD_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#if defined(HWY_TARGET_TOGGLE)
#undef SLUICE_SIMD_MATH_INL_H_
#else
#define SLUICE_SIMD_MATH_INL_H_
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace sluice {
namespace HWY_NAMESPACE {

// These accept every number; Highway's have a limited domain. NaN stays NaN.

// Returns e^x within 2 units in the last place, infinity past the range.
template <class D, class V>
HWY_INLINE V SimdExp(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  using T = hn::TFromD<D>;
  // e^most is infinite, and `most` is within Highway's range.
  const V most = hn::Set(d, static_cast<T>(sizeof(T) == 4 ? 104.0 : 1000.0));
  const V result = hn::Exp(d, hn::IfThenElse(hn::Gt(x, most), most, x));
  return hn::IfThenElse(hn::Eq(x, x), result, x);
}

// Returns 1 / (1 + e^-x) within 4 units in the last place, also if it is tiny.
template <class D, class V>
HWY_INLINE V SimdSigmoid(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const V one = hn::Set(d, hn::TFromD<D>{1});
  const V small = SimdExp(d, hn::Neg(hn::Abs(x)));
  const V numerator = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), small, one);
  return hn::Div(numerator, hn::Add(one, small));
}

// Returns tanh x within 4 units in the last place.
template <class D, class V>
HWY_INLINE V SimdTanh(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  return hn::IfThenElse(hn::Eq(x, x), hn::Tanh(d, x), x);
}

// Returns the natural logarithm within 4 units in the last place: -infinity for
// 0, NaN for negative numbers.
template <class D, class V>
HWY_INLINE V SimdLog(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  using T = hn::TFromD<D>;
  const V zero = hn::Zero(d);
  const V infinity = hn::Set(d, static_cast<T>(__builtin_huge_val()));
  V result = hn::Log(d, x);
  result = hn::IfThenElse(hn::Eq(x, infinity), infinity, result);
  result = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinity), result);
  return hn::IfThenElse(hn::Ge(x, zero), result, hn::NaN(d));
}

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#endif  // per target
