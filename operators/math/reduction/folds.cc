#include "sluice/operators/math/reduction/folds.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "sluice/operators/math/simd_doubles-inl.h"
#include "sluice/operators/math/simd_math-inl.h"
#include "sluice/platform/cpu/simd_dispatch.h"
#include "sluice/platform/dtype_sets.h"

HWY_BEFORE_NAMESPACE();
namespace sluice {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The coefficients of e^x from x^7 on.
constexpr double kTaylor[] = {1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24,
                              1.0 / 6,    0.5,       1.0,       1.0};

// Returns e^x within 3e-10 of it for x of at most 0: float sums need no more.
// Below -700 it is e^-700, which no float can tell from 0.
template <typename T, class D, class V = hn::Vec<D>>
HWY_INLINE V ExpFor(D d, V x) {
  if constexpr (sizeof(T) == 8) return SimdExp(d, x);
  constexpr double kLog2E = 1.4426950408889634, kLn2 = 0.6931471805599453;
  // Adding this rounds to an integer, in the last bits of the fraction.
  const V round = hn::Set(d, 0x1.8p52 + 1023);
  const V above = AtLeast(d, x, hn::Set(d, -700.0));
  const V shifted = hn::MulAdd(above, hn::Set(d, kLog2E), round);
  const V n = hn::Sub(shifted, round);
  const V rest = hn::NegMulAdd(n, hn::Set(d, kLn2), above);
  V sum = hn::Set(d, 1.0 / 40320);
  HWY_UNROLL(8)
  for (const double term : kTaylor) {
    sum = hn::MulAdd(sum, rest, hn::Set(d, term));
  }
  const hn::RebindToSigned<D> bits;
  return hn::Mul(sum,
                 hn::BitCast(d, hn::ShiftLeft<52>(hn::BitCast(bits, shifted))));
}

template <typename T>
double SumOfExp(const T* x, int64_t count, T most) {
  double equal = 0;
  const auto term = [&](auto d, int64_t i) HWY_ATTR {
    const auto value = LoadDoubles(d, x + i);
    const auto largest = hn::Set(d, static_cast<double>(most));
    const auto same = hn::Eq(value, largest);
    equal += static_cast<double>(hn::CountTrue(d, same));
    return hn::IfThenZeroElse(same, ExpFor<T>(d, hn::Sub(value, largest)));
  };
  const double others = SumOf(term, count);
  return others + (equal - 1);
}

// Adds the columns from j on, a vector at a time, while enough remain.
template <class D, typename T>
HWY_INLINE int64_t ExpColumns(D d,
                              const T* const* rows,
                              int64_t count,
                              int64_t j,
                              int64_t columns,
                              T* most,
                              double* rest) {
  constexpr int64_t kLanes = hn::MaxLanes(d);
  const hn::Rebind<T, D> stored;
  const auto one = hn::Set(d, 1.0);
  for (; j + kLanes <= columns; j += kLanes) {
    auto largest = hn::LoadU(stored, most + j);
    for (int64_t i = 0; i < count; ++i) {
      largest = hn::Max(largest, hn::LoadU(stored, rows[i] + j));
    }
    const auto before = LoadDoubles(d, most + j);
    hn::StoreU(largest, stored, most + j);
    const auto now = LoadDoubles(d, most + j);
    auto others = hn::LoadU(d, rest + j), equal = hn::Zero(d);
    const auto grew = hn::Ne(before, now);
    if (!hn::AllFalse(d, grew)) {
      const auto scaled =
          hn::Mul(hn::Add(others, one), ExpFor<T>(d, hn::Sub(before, now)));
      others = hn::IfThenElse(grew, scaled, others);
      equal = hn::IfThenElseZero(grew, hn::Neg(one));
    }
    for (int64_t i = 0; i < count; ++i) {
      const auto value = LoadDoubles(d, rows[i] + j);
      const auto same = hn::Eq(value, now);
      const auto e = ExpFor<T>(d, hn::Sub(value, now));
      others = hn::Add(others, hn::IfThenZeroElse(same, e));
      equal = hn::Add(equal, hn::IfThenElseZero(same, one));
    }
    hn::StoreU(hn::Add(others, equal), d, rest + j);
  }
  return j;
}

template <typename T>
void ExpRows(const T* const* rows,
             int64_t count,
             int64_t columns,
             T* most,
             double* rest) {
  const hn::ScalableTag<double> d;
  const int64_t j = ExpColumns(d, rows, count, 0, columns, most, rest);
  const hn::CappedTag<double, 1> one;
  ExpColumns(one, rows, count, j, columns, most, rest);
}

// Whether all products are in the range, or 0.
template <class D>
HWY_INLINE bool AllNear(D d, hn::Vec<D> products) {
  const auto size = hn::Abs(products);
  const auto near = hn::And(hn::Gt(size, hn::Set(d, 0x1p-400)),
                            hn::Lt(size, hn::Set(d, 0x1p400)));
  return hn::AllTrue(d, hn::Or(near, hn::Eq(size, hn::Zero(d))));
}

template <class D>
HWY_INLINE hn::Vec<D> TimesFour(D d,
                                hn::Vec<D> products,
                                const float* const (&rows)[4],
                                int64_t j) {
  HWY_UNROLL(4)
  for (const float* row : rows) {
    products = hn::Mul(products, LoadDoubles(d, row + j));
  }
  return products;
}

bool FourRows(const float* const (&rows)[4],
              int64_t columns,
              double* products) {
  const hn::ScalableTag<double> d;
  constexpr int64_t kLanes = hn::MaxLanes(d);
  bool near = true;
  int64_t j = 0;
  for (; j + kLanes <= columns; j += kLanes) {
    hn::Vec<decltype(d)> before, exponents;
    hn::LoadInterleaved2(d, products + 2 * j, before, exponents);
    const auto after = TimesFour(d, before, rows, j);
    hn::StoreInterleaved2(after, exponents, d, products + 2 * j);
    near = near && AllNear(d, after);
  }
  for (; j < columns; ++j) {
    const hn::CappedTag<double, 1> one;
    const auto after = TimesFour(one, hn::Set(one, products[2 * j]), rows, j);
    products[2 * j] = hn::GetLane(after);
    near = near && AllNear(one, after);
  }
  return near;
}

int64_t EightLanes(const float* x, int64_t count, double* products) {
  const hn::CappedTag<double, 8> d;
  constexpr int64_t kLanes = hn::MaxLanes(d);
  int64_t i = 0;
  for (bool near = true; near && i + 32 <= count; i += 32) {
    const float* const rows[4] = {x + i, x + i + 8, x + i + 16, x + i + 24};
    HWY_UNROLL(8)
    for (int64_t j = 0; j < 8; j += kLanes) {
      const auto after = TimesFour(d, hn::LoadU(d, products + j), rows, j);
      hn::StoreU(after, d, products + j);
      near = near && AllNear(d, after);
    }
  }
  return i;
}

SLUICE_SIMD_FLOATS(SumOfExp);
SLUICE_SIMD_FLOATS(ExpRows);

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice {
namespace {

SLUICE_EXPORT_FLOATS(SumOfExp);
SLUICE_EXPORT_FLOATS(ExpRows);
HWY_EXPORT(FourRows);
HWY_EXPORT(EightLanes);

}  // namespace

template <typename T>
double SumOfExpLess1(const T* x, int64_t count, T most) {
  return SumOfExpFor<T>()(x, count, most);
}
template <typename T>
void AddExpRows(const T* const* rows,
                int64_t count,
                int64_t columns,
                T* most,
                double* rest) {
  ExpRowsFor<T>()(rows, count, columns, most, rest);
}
bool MultiplyFourRows(const float* const (&rows)[4],
                      int64_t columns,
                      double* products) {
  return HWY_DYNAMIC_DISPATCH(FourRows)(rows, columns, products);
}
int64_t MultiplyLanes(const float* x, int64_t count, double* products) {
  return HWY_DYNAMIC_DISPATCH(EightLanes)(x, count, products);
}
SLUICE_INSTANTIATE_FLOATS(SumOfExpLess1);
SLUICE_INSTANTIATE_FLOATS(AddExpRows);

}  // namespace sluice
#endif  // HWY_ONCE
