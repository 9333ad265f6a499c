// Vectors of numbers with the operators and functions that the formulas of the
// ops' tables use. For files that are compiled for every instruction set
// (design/kernels.md): include this after hwy/highway.h, once for each.
#if defined(SLUICE_SIMD_FORMULAS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#if defined(HWY_TARGET_TOGGLE)
#undef SLUICE_SIMD_FORMULAS_INL_H_
#else
#define SLUICE_SIMD_FORMULAS_INL_H_
#endif

#include <cmath>
#include <cstdint>

#include <hwy/highway.h>

#include "sluice/operators/math/simd_math-inl.h"

#undef SLUICE_FORMULA
#define SLUICE_FORMULA HWY_INLINE
#undef SLUICE_HOST_FORMULA
#define SLUICE_HOST_FORMULA HWY_INLINE

HWY_BEFORE_NAMESPACE();
namespace sluice {
namespace HWY_NAMESPACE {

// The types of a table's rows.
template <class... Row>
struct Rows {};

// A vector of floats or doubles.
template <class D>
struct Lanes {
  using T = hwy::HWY_NAMESPACE::TFromD<D>;
  using Vec = hwy::HWY_NAMESPACE::Vec<D>;

  HWY_INLINE Lanes(Vec vec) : v(vec) {}  // NOLINT: as a number converts
  HWY_INLINE explicit Lanes(double value)
      : v(hwy::HWY_NAMESPACE::Set(D(), static_cast<T>(value))) {}

  Vec v;
};

// The result of a comparison of two vectors.
template <class D>
struct LanesMask {
  hwy::HWY_NAMESPACE::Mask<D> m;
};

#define SLUICE_LANES_BINARY(op, Function)                   \
  template <class D>                                        \
  HWY_INLINE Lanes<D> operator op(Lanes<D> x, Lanes<D> y) { \
    return hwy::HWY_NAMESPACE::Function(x.v, y.v);          \
  }
SLUICE_LANES_BINARY(+, Add)
SLUICE_LANES_BINARY(-, Sub)
SLUICE_LANES_BINARY(*, Mul)
SLUICE_LANES_BINARY(/, Div)
#undef SLUICE_LANES_BINARY

#define SLUICE_LANES_COMPARE(op, Function)                      \
  template <class D>                                            \
  HWY_INLINE LanesMask<D> operator op(Lanes<D> x, Lanes<D> y) { \
    return {hwy::HWY_NAMESPACE::Function(x.v, y.v)};            \
  }
SLUICE_LANES_COMPARE(==, Eq)
SLUICE_LANES_COMPARE(<, Lt)
SLUICE_LANES_COMPARE(<=, Le)
SLUICE_LANES_COMPARE(>, Gt)
SLUICE_LANES_COMPARE(>=, Ge)
#undef SLUICE_LANES_COMPARE

template <class D>
HWY_INLINE Lanes<D> operator-(Lanes<D> x) {
  return hwy::HWY_NAMESPACE::Neg(x.v);
}

// Returns `yes` where the mask is set, `no` elsewhere.
template <class D>
HWY_INLINE Lanes<D> Select(LanesMask<D> mask, Lanes<D> yes, Lanes<D> no) {
  return hwy::HWY_NAMESPACE::IfThenElse(mask.m, yes.v, no.v);
}

#define SLUICE_LANES_FUNCTION(Name, expression) \
  template <class D>                            \
  HWY_INLINE Lanes<D> Name(Lanes<D> x) {        \
    return expression;                          \
  }
SLUICE_LANES_FUNCTION(Abs, hwy::HWY_NAMESPACE::Abs(x.v))
SLUICE_LANES_FUNCTION(Sqrt, hwy::HWY_NAMESPACE::Sqrt(x.v))
SLUICE_LANES_FUNCTION(Floor, hwy::HWY_NAMESPACE::Floor(x.v))
SLUICE_LANES_FUNCTION(Ceil, hwy::HWY_NAMESPACE::Ceil(x.v))
SLUICE_LANES_FUNCTION(Round, hwy::HWY_NAMESPACE::Round(x.v))
SLUICE_LANES_FUNCTION(Trunc, hwy::HWY_NAMESPACE::Trunc(x.v))
SLUICE_LANES_FUNCTION(Exp, SimdExp(D(), x.v))
SLUICE_LANES_FUNCTION(Log, SimdLog(D(), x.v))
SLUICE_LANES_FUNCTION(Sigmoid, SimdSigmoid(D(), x.v))
SLUICE_LANES_FUNCTION(Tanh, SimdTanh(D(), x.v))
#undef SLUICE_LANES_FUNCTION

template <class D>
HWY_INLINE LanesMask<D> IsNormal(Lanes<D> x) {
  namespace hn = hwy::HWY_NAMESPACE;
  using T = hn::TFromD<D>;
  const T least = static_cast<T>(sizeof(T) == 4 ? 0x1p-126 : 0x1p-1022);
  const auto magnitude = hn::Abs(x.v);
  return {hn::And(hn::Ge(magnitude, hn::Set(D(), least)),
                  hn::Lt(magnitude, hn::Inf(D())))};
}

// Evaluates functions that Highway lacks, or has only for a part of the
// numbers, by calling the C library for each lane.
template <class D, class Function>
HWY_INLINE Lanes<D> EachLane(Lanes<D> x, Function function) {
  namespace hn = hwy::HWY_NAMESPACE;
  using T = hn::TFromD<D>;
  HWY_ALIGN T values[hn::MaxLanes(D())];
  hn::Store(x.v, D(), values);
  for (T& value : values) {
    value = function(value);
  }
  return hn::Load(D(), values);
}

#define SLUICE_LANES_LIBRARY_OF_TWO(Name, function)          \
  template <class D>                                         \
  HWY_INLINE Lanes<D> Name(Lanes<D> x, Lanes<D> y) {         \
    namespace hn = hwy::HWY_NAMESPACE;                       \
    HWY_ALIGN typename Lanes<D>::T left[hn::MaxLanes(D())];  \
    HWY_ALIGN typename Lanes<D>::T right[hn::MaxLanes(D())]; \
    hn::Store(x.v, D(), left);                               \
    hn::Store(y.v, D(), right);                              \
    for (size_t i = 0; i < hn::MaxLanes(D()); ++i) {         \
      left[i] = std::function(left[i], right[i]);            \
    }                                                        \
    return hn::Load(D(), left);                              \
  }
SLUICE_LANES_LIBRARY_OF_TWO(PowOfLibrary, pow)
SLUICE_LANES_LIBRARY_OF_TWO(FmodOfLibrary, fmod)
SLUICE_LANES_LIBRARY_OF_TWO(Atan2, atan2)
#undef SLUICE_LANES_LIBRARY_OF_TWO

// The remainder of x divided by y, with the sign of x: exact. Where all
// integers up to the quotient are floats, its integral part is rounded up at
// most, and the fused multiply-add is exact, as it is smaller than y.
template <class D>
HWY_INLINE Lanes<D> Fmod(Lanes<D> x, Lanes<D> y) {
#if HWY_TARGET <= HWY_AVX2
  namespace hn = hwy::HWY_NAMESPACE;
  const D d;
  const auto of = hn::Abs(x.v), by = hn::Abs(y.v);
  const auto quotient = hn::Trunc(hn::Div(of, by));
  const auto most = hn::Set(
      d, static_cast<hn::TFromD<D>>(hwy::MantissaMask<hn::TFromD<D>>()));
  const auto exact =
      hn::And(hn::Lt(quotient, most), hn::Lt(by, hn::Inf(d)));  // no NaN
  auto rest = hn::NegMulAdd(quotient, by, of);
  rest = hn::Add(rest, hn::IfThenElseZero(hn::Lt(rest, hn::Zero(d)), by));
  const Lanes<D> result = hn::CopySign(rest, x.v);
  if (HWY_LIKELY(hn::AllTrue(d, exact))) return result;
  return Select(LanesMask<D>{exact}, result, FmodOfLibrary(x, y));
#else
  return FmodOfLibrary(x, y);
#endif
}

// X to the power of y. The usual exponents need no call of the library; a
// lane's bits do not depend on the others.
template <class D>
HWY_INLINE Lanes<D> Pow(Lanes<D> x, Lanes<D> y) {
  namespace hn = hwy::HWY_NAMESPACE;
  using V = Lanes<D>;
  const LanesMask<D> root = y == V(0.5), square = y == V(2);
  const LanesMask<D> inverse = y == V(-1), same = y == V(1);
  const auto usual =
      hn::Or(hn::Or(root.m, square.m), hn::Or(inverse.m, same.m));
  if (hn::AllFalse(D(), usual)) return PowOfLibrary(x, y);
  // IEEE 754 has 0 for -0 and infinity for -infinity to the power of 1/2.
  const V infinity = hn::Inf(D());
  const V half = Select(x == -infinity, infinity, Sqrt(x + V(0)));
  const V power =
      Select(root, half, Select(square, x * x, Select(inverse, V(1) / x, x)));
  if (HWY_LIKELY(hn::AllTrue(D(), usual))) return power;
  return Select(LanesMask<D>{usual}, power, PowOfLibrary(x, y));
}

// By a vector formula for float, and by the C library for double.
#define SLUICE_LANES_FLOAT(Name, function)                                   \
  template <class D>                                                         \
  HWY_INLINE Lanes<D> Name(Lanes<D> x) {                                     \
    if constexpr (sizeof(typename Lanes<D>::T) == 4) {                       \
      return Simd##Name(D(), x.v);                                           \
    } else {                                                                 \
      return EachLane(x, [](double value) { return std::function(value); }); \
    }                                                                        \
  }
SLUICE_LANES_FLOAT(Expm1, expm1)
SLUICE_LANES_FLOAT(Log1p, log1p)
SLUICE_LANES_FLOAT(Erf, erf)
SLUICE_LANES_FLOAT(Erfc, erfc)
SLUICE_LANES_FLOAT(Atan, atan)
#undef SLUICE_LANES_FLOAT

// By a vector formula for floats up to kMostAngle, else by the C library.
#define SLUICE_LANES_ANGLE(Name, function, quarters)                   \
  template <class D>                                                   \
  HWY_INLINE Lanes<D> Name(Lanes<D> x) {                               \
    namespace hn = hwy::HWY_NAMESPACE;                                 \
    using T = typename Lanes<D>::T;                                    \
    const auto library = [](T value) { return std::function(value); }; \
    if constexpr (sizeof(T) == 4) {                                    \
      const Lanes<D> near = SimdSine<quarters>(D(), x.v);              \
      const LanesMask<D> far = Abs(x) > Lanes<D>(kMostAngle);          \
      if (HWY_LIKELY(hn::AllFalse(D(), far.m))) return near;           \
      return Select(far, EachLane(x, library), near);                  \
    } else {                                                           \
      return EachLane(x, library);                                     \
    }                                                                  \
  }
SLUICE_LANES_ANGLE(Sin, sin, 0)
SLUICE_LANES_ANGLE(Cos, cos, 1)
#undef SLUICE_LANES_ANGLE

#define SLUICE_LANES_LIBRARY(Name, function)                                 \
  template <class D>                                                         \
  HWY_INLINE Lanes<D> Name(Lanes<D> x) {                                     \
    return EachLane(                                                         \
        x, [](typename Lanes<D>::T value) { return std::function(value); }); \
  }
SLUICE_LANES_LIBRARY(Tan, tan)
SLUICE_LANES_LIBRARY(Asin, asin)
SLUICE_LANES_LIBRARY(Acos, acos)
SLUICE_LANES_LIBRARY(Sinh, sinh)
SLUICE_LANES_LIBRARY(Cosh, cosh)
SLUICE_LANES_LIBRARY(Asinh, asinh)
SLUICE_LANES_LIBRARY(Acosh, acosh)
SLUICE_LANES_LIBRARY(Atanh, atanh)
#undef SLUICE_LANES_LIBRARY

#include "sluice/operators/math/float_formulas.inc"
#include "sluice/operators/math/integer_formulas.inc"

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#endif  // per target
