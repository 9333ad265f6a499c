// Elementary functions of a vector of float or double. For files that are
// compiled for every instruction set (design/kernels.md): include this after
// hwy/highway.h, once for each.
#if defined(SLUICE_SIMD_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#if defined(HWY_TARGET_TOGGLE)
#undef SLUICE_SIMD_MATH_INL_H_
#else
#define SLUICE_SIMD_MATH_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace sluice {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// These accept every number. NaN stays NaN, and -0 where it is the result. The
// bounds in ulps (units in the last place) are those that
// tests/operators/math/unary/unary_row_test.cc finds in float32, with and
// without fused multiply-adds, rounded up.
// float64 takes Highway's functions. Rational functions were fitted to the
// functions in float64, by least squares that are weighted by the largest
// error.

// Returns c[0] + x * (c[1] + x * (c[2] + ...)).
template <class D, class V, size_t kCount>
HWY_INLINE V Polynomial(D d, V x, const double (&c)[kCount]) {
  using T = hn::TFromD<D>;
  V sum = hn::Set(d, static_cast<T>(c[kCount - 1]));
  for (size_t i = kCount - 1; i > 0; --i) {
    sum = hn::MulAdd(sum, x, hn::Set(d, static_cast<T>(c[i - 1])));
  }
  return sum;
}

// Return x, or `bound` if x is above or below it.
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
template <class D, class V>
HWY_INLINE V AtMost(D /*d*/, V x, V bound) {
  return hn::IfThenElse(hn::Gt(x, bound), bound, x);
}
template <class D, class V>
HWY_INLINE V AtLeast(D /*d*/, V x, V bound) {
  return hn::IfThenElse(hn::Lt(x, bound), bound, x);
}
#else
// On x86 these instructions return the second argument if one is NaN.
template <class D, class V>
HWY_INLINE V AtMost(D /*d*/, V x, V bound) {
  return hn::Min(bound, x);
}
template <class D, class V>
HWY_INLINE V AtLeast(D /*d*/, V x, V bound) {
  return hn::Max(bound, x);
}
#endif

// x as n * ln 2 + rest for |x| < 2^7 in float32. `shifted` is n + 1.5 * 2^23,
// so that its low bits are n. The parts of ln 2 are Cephes' (expf.c): n times
// the first is exact.
template <class V>
struct ByLn2 {
  V shifted;
  V rest;
};
constexpr float kLn2High = 0.693359375F;
constexpr float kLn2Low = -2.12194440e-4F;
template <class D, class V>
HWY_INLINE ByLn2<V> DivideByLn2(D d, V x) {
  const V magic = hn::Set(d, 0x1.8p23F);
  const V shifted = hn::MulAdd(x, hn::Set(d, 1.44269504F), magic);
  const V n = hn::Sub(shifted, magic);
  const V rest = hn::NegMulAdd(n, hn::Set(d, kLn2High), x);
  return {shifted, hn::NegMulAdd(n, hn::Set(d, kLn2Low), rest)};
}

// Returns e^x - 1 for |x| <= ln 2 / 2 in float32.
template <class D, class V>
HWY_INLINE V Expm1NearZero(D d, V x) {
  const V more =
      Polynomial(d, x,
                 {0.4999999954544197, 0.1666657636150996, 0.041666855485847774,
                  0.008363300018431654, 0.0013901340171846052});
  return hn::MulAdd(hn::Mul(x, x), more, x);
}

// Returns x * 2^n for a power of two x whose product is a normal number.
template <class D, class V>
HWY_INLINE V ScaledPower(D d, V x, ByLn2<V> by) {
  const hn::RebindToSigned<D> di;
  const auto n = hn::ShiftLeft<23>(hn::BitCast(di, by.shifted));
  return hn::BitCast(d, hn::Add(hn::BitCast(di, x), n));
}

// Returns x * 2^n, by halves, so that the result may be denormal.
template <class D, class V>
HWY_INLINE V TimesPowerOfTwo(D d, V x, ByLn2<V> by) {
#if HWY_TARGET <= HWY_AVX3
  if constexpr (hn::MaxLanes(D()) == 16) {
    return V{_mm512_scalef_ps(x.raw,
                              hn::Sub(by.shifted, hn::Set(d, 0x1.8p23F)).raw)};
  }
#endif
  const hn::RebindToSigned<D> di;
  const auto n = hn::BitCast(di, by.shifted);
  const auto half = hn::ShiftRight<1>(n);
  const auto ones = hn::BitCast(di, hn::Set(d, 1.0F));
  const auto first = hn::Add(ones, hn::ShiftLeft<23>(half));
  const auto second = hn::Add(ones, hn::ShiftLeft<23>(hn::Sub(n, half)));
  return hn::Mul(hn::Mul(x, hn::BitCast(d, first)), hn::BitCast(d, second));
}

// Returns e^x for float32 x from -104, whose result is 0, to 89, whose result
// is infinite. The rest of x after the division by ln 2 is changed by `more`.
template <class D, class V, class More>
HWY_INLINE V ExpInRange(D d, V x, const More& more) {
  const ByLn2<V> by = DivideByLn2(d, x);
  const V less = Expm1NearZero(d, more(by.rest));
  return TimesPowerOfTwo(d, hn::Add(hn::Set(d, 1.0F), less), by);
}
template <class D, class V>
HWY_INLINE V ExpInRange(D d, V x) {
  return ExpInRange(d, x, [](V rest) HWY_ATTR { return rest; });
}

// Returns e^x within 1.5 ulps (float64: 2), infinity past the range.
template <class D, class V>
HWY_INLINE V SimdExp(D d, V x) {
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    const V below = AtMost(d, x, hn::Set(d, 89.0F));
    return ExpInRange(d, AtLeast(d, below, hn::Set(d, -104.0F)));
  } else {
    // e^1000 is infinite, and 1000 is within Highway's range.
    const V result = hn::Exp(d, AtMost(d, x, hn::Set(d, 1000.0)));
    return hn::IfThenElse(hn::Eq(x, x), result, x);
  }
}

// SimdExp with the same bits for x of at most 0, in less time unless a result
// is no normal number.
template <class D, class V>
HWY_INLINE V SimdExpOfNegative(D d, V x) {
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    const V above = AtLeast(d, x, hn::Set(d, -104.0F));
    const ByLn2<V> by = DivideByLn2(d, above);
    const V power = hn::Add(hn::Set(d, 1.0F), Expm1NearZero(d, by.rest));
    if (HWY_LIKELY(hn::AllTrue(d, hn::Ge(above, hn::Set(d, -87.0F))))) {
      return ScaledPower(d, power, by);
    }
    return TimesPowerOfTwo(d, power, by);
  } else {
    return SimdExp(d, x);
  }
}

// Returns e^x - 1 within 2 ulps, for float32.
template <class D, class V>
HWY_INLINE V SimdExpm1(D d, V x) {
  // e^-20 is lost beside 1, and the result of 89 is infinite.
  const V above = AtLeast(d, x, hn::Set(d, -20.0F));
  const ByLn2<V> by = DivideByLn2(d, AtMost(d, above, hn::Set(d, 89.0F)));
  // 2^(n - 1), as 2^128 is no float.
  const V half = hn::Set(d, 0.5F);
  const V scale = ScaledPower(d, half, by);
  const V halved =
      hn::MulAdd(scale, Expm1NearZero(d, by.rest), hn::Sub(scale, half));
  const auto tiny = hn::Lt(hn::Abs(x), hn::Set(d, 0x1p-25F));
  return hn::IfThenElse(tiny, x, hn::Add(halved, halved));
}

// Returns 1 / (1 + e^-x) within 2.5 ulps (float64: 4), also if it is tiny.
template <class D, class V>
HWY_INLINE V SimdSigmoid(D d, V x) {
  const V one = hn::Set(d, hn::TFromD<D>{1});
  const V small = SimdExpOfNegative(d, hn::Neg(hn::Abs(x)));
  const V numerator = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), small, one);
  return hn::Div(numerator, hn::Add(one, small));
}

// Returns tanh x within 2.5 ulps (float64: 4): (e^2x - 1) / (e^2x + 1).
template <class D, class V>
HWY_INLINE V SimdTanh(D d, V x) {
  if constexpr (sizeof(hn::TFromD<D>) == 8) {
    return hn::IfThenElse(hn::Eq(x, x), hn::Tanh(d, x), x);
  } else {
    const V one = hn::Set(d, 1.0F);
    const V most = hn::Set(d, 20.0F);  // tanh 10 rounds to 1
    const V twice = hn::Abs(hn::Add(x, x));
    const ByLn2<V> by = DivideByLn2(d, AtMost(d, twice, most));
    const V scale = ScaledPower(d, one, by);
    const V less =
        hn::MulAdd(scale, Expm1NearZero(d, by.rest), hn::Sub(scale, one));
    return hn::CopySignToAbs(hn::Div(less, hn::Add(less, hn::Set(d, 2.0F))), x);
  }
}

// Returns ln(1 + f) + n * ln 2 for float32 1 + f from sqrt(1/2) to sqrt(2), by
// Cephes' polynomial (logf.c).
template <class D, class V>
HWY_INLINE V LogOfParts(D d, V f, V n) {
  const V square = hn::Mul(f, f);
  V low =
      hn::Mul(hn::Mul(f, square),
              Polynomial(d, f,
                         {3.3333331174e-1, -2.4999993993e-1, 2.0000714765e-1,
                          -1.6668057665e-1, 1.4249322787e-1, -1.2420140846e-1,
                          1.1676998740e-1, -1.1514610310e-1, 7.0376836292e-2}));
  low = hn::MulAdd(n, hn::Set(d, kLn2Low), low);
  low = hn::NegMulAdd(hn::Set(d, 0.5F), square, low);
  return hn::MulAdd(n, hn::Set(d, kLn2High), hn::Add(f, low));
}

// Returns `result` for positive x, -infinity for 0, infinity for infinity, and
// else NaN.
template <class D, class V>
HWY_INLINE V WithEndsOfLog(D d, V x, V result) {
  const V zero = hn::Zero(d);
  const V infinity = hn::Inf(d);
  result = hn::IfThenElse(hn::Eq(x, infinity), infinity, result);
  result = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinity), result);
  return hn::IfThenElse(hn::Ge(x, zero), result, hn::NaN(d));
}

// The bits of sqrt(1/2) as a float32.
constexpr int32_t kSqrtHalfBits = 0x3f3504f3;

// Returns the natural logarithm within 1 ulp (float64: 4).
template <class D, class V>
HWY_INLINE V SimdLog(D d, V x) {
  if constexpr (sizeof(hn::TFromD<D>) == 8) {
    return WithEndsOfLog(d, x, hn::Log(d, x));
  } else {
    const hn::RebindToSigned<D> di;
    const auto denormal = hn::Lt(x, hn::Set(d, 0x1p-126F));
    const V large =
        hn::IfThenElse(denormal, hn::Mul(x, hn::Set(d, 0x1p25F)), x);
    const auto bits = hn::BitCast(di, large);
    const auto n =
        hn::ShiftRight<23>(hn::Sub(bits, hn::Set(di, kSqrtHalfBits)));
    const V mantissa = hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<23>(n)));
    const V less = hn::IfThenElseZero(denormal, hn::Set(d, 25.0F));
    return WithEndsOfLog(d, x,
                         LogOfParts(d, hn::Sub(mantissa, hn::Set(d, 1.0F)),
                                    hn::Sub(hn::ConvertTo(d, n), less)));
  }
}

// Returns ln(1 + x) within 1.5 ulps, for float32. 1 + x is rounded only to find
// the power of two that it is divided by.
template <class D, class V>
HWY_INLINE V SimdLog1p(D d, V x) {
  const hn::RebindToSigned<D> di;
  const V one = hn::Set(d, 1.0F);
  const V sum = hn::Add(one, x);
  const auto bits = hn::BitCast(di, sum);
  const auto n = hn::ShiftRight<23>(hn::Sub(bits, hn::Set(di, kSqrtHalfBits)));
  const auto shift = hn::ShiftLeft<23>(n);
  const V inverse = hn::BitCast(d, hn::Sub(hn::BitCast(di, one), shift));
  const V exact = hn::MulAdd(x, inverse, hn::Sub(inverse, one));
  const V far = hn::Sub(hn::BitCast(d, hn::Sub(bits, shift)), one);
  const V f = hn::IfThenElse(hn::Lt(sum, hn::Set(d, 0x1p26F)), exact, far);
  const V result = WithEndsOfLog(d, sum, LogOfParts(d, f, hn::ConvertTo(d, n)));
  return hn::IfThenElse(hn::Eq(sum, one), x, result);
}

// Returns the error function within 6 ulps, for float32: x times a rational
// function of x * x, up to where erf rounds to 1.
template <class D, class V>
HWY_INLINE V SimdErf(D d, V x) {
  const V one = hn::Set(d, 1.0F);
  const V near = AtMost(d, hn::Abs(x), hn::Set(d, 3.93F));
  const V square = hn::Mul(near, near);
  const V over = Polynomial(
      d, square,
      {1.1283791696084848, 0.19249019834796013, 0.055593224320788864,
       0.004196694521982113, 0.0004060785431954804, 6.600920200146551e-06});
  const V under = Polynomial(
      d, square,
      {1.0, 0.5039234186480491, 0.11724210724848787, 0.01621858887646315,
       0.0014084089850323175, 7.119885566727837e-05, 2.497027243083447e-07});
  const V erf = hn::Mul(near, hn::Div(over, under));
  return hn::CopySignToAbs(AtMost(d, erf, one), x);
}

// Returns 1 - erf x within 7 ulps, for float32, also where it is tiny:
// e^(-x * x) times a rational function of |x|, and 2 minus that for negative x.
// The square of `high` is exact.
template <class D, class V>
HWY_INLINE V SimdErfc(D d, V x) {
  const hn::RebindToUnsigned<D> du;
  // The result of 10.19 is 0.
  const V near = AtMost(d, hn::Abs(x), hn::Set(d, 10.19F));
  const V high =
      hn::BitCast(d, hn::And(hn::BitCast(du, near), hn::Set(du, 0xFFFFF000U)));
  const V rest = hn::Mul(hn::Sub(high, near), hn::Add(high, near));
  const V bell =
      ExpInRange(d, hn::Neg(hn::Mul(high, high)),
                 [rest](V part) HWY_ATTR { return hn::Add(part, rest); });
  const V over =
      Polynomial(d, near,
                 {1.0000000058379894, 1.2392291766294419, 0.7324607338844535,
                  0.22962672165850587, 0.03288199320588266});
  const V under = Polynomial(
      d, near,
      {1.0, 2.3676089317551363, 2.404011842569525, 1.3269674642740963,
       0.40702876889023093, 0.05828113070454023});
  const V tail = hn::Mul(bell, hn::Div(over, under));
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Sub(hn::Set(d, 2.0F), tail),
                        tail);
}

// Returns the arc tangent within 3 ulps, for float32.
template <class D, class V>
HWY_INLINE V SimdAtan(D d, V x) {
  return hn::Atan(d, x);
}

// Returns the sine, or with kQuarters = 1 the cosine, of float64 x up to
// kMostAngle, with the digits of a float32: the reduction and the polynomials
// of FreeBSD's msun (e_rem_pio2f.c, k_sinf.c, k_cosf.c).
constexpr float kMostAngle = 4.2e8F;
template <int kQuarters, class D, class V>
HWY_INLINE V SineOfDoubles(D d, V x) {
  const hn::RebindToUnsigned<D> du;
  const V magic = hn::Set(d, 0x1.8p52);
  const V shifted =
      hn::MulAdd(x, hn::Set(d, 6.36619772367581382433e-01), magic);
  const V n = hn::Sub(shifted, magic);
  V rest = hn::NegMulAdd(n, hn::Set(d, 1.57079631090164184570), x);
  rest = hn::NegMulAdd(n, hn::Set(d, 1.58932547735281966916e-08), rest);
  const V square = hn::Mul(rest, rest);
  const V sine = hn::Mul(
      rest,
      Polynomial(d, square,
                 {1.0, -0.166666666416265235595, 0.0083333293858894631756,
                  -0.000198393348360966317347, 0.0000027183114939898219064}));
  const V cosine =
      Polynomial(d, square,
                 {1.0, -0.499999997251031003120, 0.0416666233237390631894,
                  -0.00138867637746099294692, 0.0000243904487962774090654});
  const auto quarter =
      hn::Add(hn::BitCast(du, shifted), hn::Set(du, uint64_t{kQuarters}));
  const auto odd = hn::RebindMask(d, hn::TestBit(quarter, hn::Set(du, 1)));
  const auto sign = hn::ShiftLeft<62>(hn::And(quarter, hn::Set(du, 2)));
  return hn::Xor(hn::IfThenElse(odd, cosine, sine), hn::BitCast(d, sign));
}

// Returns the sine or cosine of float32 x up to kMostAngle within 0.6 ulps.
template <int kQuarters, class D, class V>
HWY_INLINE V SimdSine(D d, V x) {
#if HWY_TARGET == HWY_SCALAR
  const hn::Rebind<double, D> wide;
  return hn::DemoteTo(d,
                      SineOfDoubles<kQuarters>(wide, hn::PromoteTo(wide, x)));
#else
  const hn::Half<D> half;
  const hn::Rebind<double, hn::Half<D> > wide;
  const auto low = hn::PromoteTo(wide, hn::LowerHalf(half, x));
  const auto high = hn::PromoteTo(wide, hn::UpperHalf(half, x));
  return hn::Combine(d,
                     hn::DemoteTo(half, SineOfDoubles<kQuarters>(wide, high)),
                     hn::DemoteTo(half, SineOfDoubles<kQuarters>(wide, low)));
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#endif  // per target
