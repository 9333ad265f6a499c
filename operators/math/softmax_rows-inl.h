// Rows of a softmax and of its gradient. Compiled for every instruction set:
// include this after hwy/highway.h, once for each.
#if defined(SLUICE_SOFTMAX_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#if defined(HWY_TARGET_TOGGLE)
#undef SLUICE_SOFTMAX_ROWS_INL_H_
#else
#define SLUICE_SOFTMAX_ROWS_INL_H_
#endif

#include <cstdint>

#include <hwy/highway.h>
#include <math.h>

#include "sluice/operators/math/simd_math-inl.h"
#include "sluice/operators/math/simd_parts-inl.h"

// Each row takes three passes: its maximum, the exponentials and their sum, the
// quotients. Vectors hold adjacent elements of the row.
//
// At most one element of a softmax is above 1/2. Near 1 it has no digits left
// for its logarithm or for 1 minus it: the others determine both.
HWY_BEFORE_NAMESPACE();
namespace sluice {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Sums of exponentials below this have a single maximum.
constexpr double kOneMaximum = 1.5;

// Returns the logarithm of `sum`; `rest` is `sum` without the maximum's 1.
HWY_INLINE float LogOfSum(float sum, float rest) {
  return sum < kOneMaximum ? ::log1pf(rest) : ::logf(sum);
}
HWY_INLINE double LogOfSum(double sum, double rest) {
  return sum < kOneMaximum ? ::log1p(rest) : ::log(sum);
}

template <typename T>
HWY_INLINE T Sum(V<T> v) {
  return hn::GetLane(hn::SumOfLanes(Tag<T>(), v));
}

template <typename T>
constexpr T kLowest = -__builtin_huge_val();

template <typename T>
HWY_INLINE T Maximum(const T* x, int64_t size) {
  const Tag<T> d;
  V<T> maxima = hn::Set(d, kLowest<T>);
  int64_t i = 0;
  if (size >= 4 * kLanes<T>) {  // each maximum waits for the one before
    V<T> more[3] = {maxima, maxima, maxima};
    for (; i + 4 * kLanes<T> <= size; i += 4 * kLanes<T>) {
      maxima = hn::Max(maxima, hn::LoadU(d, x + i));
      HWY_UNROLL(3)
      for (int k = 0; k < 3; ++k) {
        more[k] = hn::Max(more[k], hn::LoadU(d, x + i + (k + 1) * kLanes<T>));
      }
    }
    maxima = hn::Max(hn::Max(maxima, more[0]), hn::Max(more[1], more[2]));
  }
  for (; i < size; i += kLanes<T>) {
    maxima = hn::Max(maxima, LoadPart(x + i, size - i, kLowest<T>));
  }
  return hn::GetLane(hn::MaxOfLanes(d, maxima));
}

// Quotients by one number from 1 on. With fused multiply-adds, the product with
// the reciprocal is corrected by the remainder, which is cheaper than to
// divide.
template <typename T>
class Quotient {
 public:
  explicit HWY_INLINE Quotient(T by)
      : by_(hn::Set(Tag<T>(), by)), inverse_(hn::Set(Tag<T>(), 1 / by)) {}
  HWY_INLINE V<T> Of(V<T> x) const {
#if HWY_TARGET <= HWY_AVX2
    const V<T> quotient = hn::Mul(x, inverse_);
    return hn::MulAdd(hn::NegMulAdd(quotient, by_, x), inverse_, quotient);
#else
    return hn::Div(x, by_);
#endif
  }

 private:
  V<T> by_;
  V<T> inverse_;
};

// Computes the softmax of one row, its maximum and the sum of the exponentials.
template <typename T>
HWY_INLINE void SoftmaxRow(
    const T* x, int64_t size, T* out, T* maximum, T* exponentials) {
  const Tag<T> d;
  if (size <= kLanes<T>) {  // `out` is not written and read again
    const V<T> row = LoadPart(x, size, kLowest<T>);
    *maximum = hn::GetLane(hn::MaxOfLanes(d, row));
    const V<T> e = SimdExpOfNegative(d, hn::Sub(row, hn::Set(d, *maximum)));
    *exponentials = Sum<T>(e);
    return StorePart(hn::Div(e, hn::Set(d, *exponentials)), out, size);
  }
  *maximum = Maximum(x, size);
  const V<T> max = hn::Set(d, *maximum);
  V<T> sums = hn::Zero(d);
  int64_t i = 0;
  for (; i + 2 * kLanes<T> <= size; i += 2 * kLanes<T>) {
    const V<T> e0 = SimdExpOfNegative(d, hn::Sub(hn::LoadU(d, x + i), max));
    const V<T> e1 =
        SimdExpOfNegative(d, hn::Sub(hn::LoadU(d, x + i + kLanes<T>), max));
    sums = hn::Add(hn::Add(sums, e0), e1);
    hn::StoreU(e0, d, out + i);
    hn::StoreU(e1, d, out + i + kLanes<T>);
  }
  for (; i < size; i += kLanes<T>) {
    const V<T> e = SimdExpOfNegative(
        d, hn::Sub(LoadPart(x + i, size - i, kLowest<T>), max));
    // Lanes after the row are 0, or NaN if the whole row is.
    sums = hn::Add(sums, e);
    StorePart(e, out + i, size - i);
  }
  *exponentials = Sum<T>(sums);
  const Quotient<T> over(*exponentials);
  for (i = 0; i + kLanes<T> <= size; i += kLanes<T>) {
    hn::StoreU(over.Of(hn::LoadU(d, out + i)), d, out + i);
  }
  if (i == size) return;
  const int64_t left = size - i;
  StorePart(over.Of(LoadPart(out + i, left, T{0})), out + i, left);
}

// The sums for x_grad = (grad - sum of grad * out) * out. The grad of the
// element above 1/2 is subtracted from all grads.
template <typename T>
struct GradTerms {
  static constexpr T kPad = 0;  // out past the end of a row
  const Tag<T> d;
  V<T> base;      // grad of the element above 1/2, or 0
  V<T> products;  // grad * out of other elements
  V<T> rest;      // out of other elements

  HWY_INLINE GradTerms() : base(hn::Zero(d)), products(base), rest(base) {}
  HWY_INLINE auto IsAboveHalf(V<T> out) const {
    return hn::Gt(out, hn::Set(d, T{0.5}));
  }
  HWY_INLINE void Add(V<T> out, V<T> grad) {
    const auto above = IsAboveHalf(out);
    const V<T> other = hn::IfThenZeroElse(above, out);
    base = hn::Add(base, hn::IfThenElseZero(above, grad));
    products = hn::MulAdd(other, grad, products);
    rest = hn::Add(rest, other);
  }
  HWY_INLINE void AddPart(const GradTerms& part) {
    base = hn::Add(base, part.base);
    products = hn::Add(products, part.products);
    rest = hn::Add(rest, part.rest);
  }
  // Sets each lane to the sum of all lanes.
  HWY_INLINE void AddLanes() {
    base = hn::SumOfLanes(d, base);
    products = hn::SumOfLanes(d, products);
    rest = hn::SumOfLanes(d, rest);
  }
  HWY_INLINE V<T> Grad(V<T> out, V<T> grad) const {
    const V<T> apart =
        hn::IfThenZeroElse(IsAboveHalf(out), hn::Sub(grad, base));
    const V<T> sum = hn::NegMulAdd(base, rest, products);
    return hn::Mul(hn::Sub(apart, sum), out);
  }
};

// Computes the gradient of one row. Terms is GradTerms or LogGradTerms.
template <typename Terms, typename T>
HWY_INLINE void GradRow(const T* out, const T* grad, int64_t size, T* x_grad) {
  Terms terms;
  for (int64_t i = 0; i < size; i += kLanes<T>) {
    const int64_t left = size - i;
    terms.Add(LoadPart(out + i, left, Terms::kPad),
              LoadPart(grad + i, left, T{0}));
  }
  terms.AddLanes();
  for (int64_t i = 0; i < size; i += kLanes<T>) {
    const int64_t left = size - i;
    StorePart(terms.Grad(LoadPart(out + i, left, Terms::kPad),
                         LoadPart(grad + i, left, T{0})),
              x_grad + i, left);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#endif  // per target
