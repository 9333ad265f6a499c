// The loops of unary rows. Compiled for every instruction set: include this
// after hwy/highway.h, once for each.
#if defined(SLUICE_UNARY_LOOPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#if defined(HWY_TARGET_TOGGLE)
#undef SLUICE_UNARY_LOOPS_INL_H_
#else
#define SLUICE_UNARY_LOOPS_INL_H_
#endif

#include <cmath>
#include <cstdint>
#include <vector>

#include <hwy/highway.h>

#include "sluice/operators/math/simd_formulas-inl.h"
#include "sluice/operators/math/unary/unary_row.h"

HWY_BEFORE_NAMESPACE();
namespace sluice {
namespace HWY_NAMESPACE {

// Computes out[i] = step(a[i], b[i]).
template <typename T, class Step>
HWY_INLINE void ForEachPair(
    const Step& step, const T* a, const T* b, int64_t count, T* out) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = hn::MaxLanes(d);
  int64_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    const int64_t j = i + kLanes;
    const auto first = step(hn::LoadU(d, a + i), hn::LoadU(d, b + i));
    const auto second = step(hn::LoadU(d, a + j), hn::LoadU(d, b + j));
    hn::StoreU(first, d, out + i);
    hn::StoreU(second, d, out + j);
  }
  if (i + kLanes <= count) {
    hn::StoreU(step(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, out + i);
    i += kLanes;
  }
  if (i == count) return;
  HWY_ALIGN T last_a[kLanes] = {};
  HWY_ALIGN T last_b[kLanes] = {};
  for (int64_t j = 0; i + j < count; ++j) {
    last_a[j] = a[i + j];
    last_b[j] = b[i + j];
  }
  hn::Store(step(hn::Load(d, last_a), hn::Load(d, last_b)), d, last_a);
  for (int64_t j = 0; i + j < count; ++j) {
    out[i + j] = last_a[j];
  }
}

template <class Row, typename T>
void Forward(const T* x, int64_t count, const UnaryParams& params, T* out) {
  using V = Lanes<hwy::HWY_NAMESPACE::ScalableTag<T>>;
  const UnaryParams p = params;
  ForEachPair([&p](auto a, auto /*b*/) HWY_ATTR { return Row::Of(V(a), p).v; },
              x, x, count, out);
}

template <class Row, typename T>
void Gradient(const T* seen,
              const T* out_grad,
              int64_t count,
              const UnaryParams& params,
              T* x_grad) {
  using V = Lanes<hwy::HWY_NAMESPACE::ScalableTag<T>>;
  const UnaryParams p = params;
  ForEachPair([&p](auto a, auto b)
                  HWY_ATTR { return Row::Gradient(V(a), V(b), p).v; },
              seen, out_grad, count, x_grad);
}

template <class Row, typename T>
void ForwardIntegers(const T* x,
                     int64_t count,
                     const UnaryParams& params,
                     T* out) {
  for (int64_t i = 0; i < count; ++i) {
    out[i] = Row::Of(Wrapped<T>(static_cast<uint64_t>(x[i])), params).v;
  }
}

template <class Row>
UnaryRow MakeRow() {
  UnaryRow row = {Row::kInfo,
                  {&Forward<Row, float>, &Gradient<Row, float>},
                  {&Forward<Row, double>, &Gradient<Row, double>},
                  {},
                  {},
                  {}};
  if constexpr (Row::kInfo.dtypes == UnaryDTypes::kSignedNumbers) {
    row.int8.forward = &ForwardIntegers<Row, int8_t>;
    row.int32.forward = &ForwardIntegers<Row, int32_t>;
    row.int64.forward = &ForwardIntegers<Row, int64_t>;
  }
  return row;
}

template <class... Row>
void AddRows(Rows<Row...> /*table*/, std::vector<UnaryRow>* rows) {
  (rows->push_back(MakeRow<Row>()), ...);
}

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#endif  // per target
