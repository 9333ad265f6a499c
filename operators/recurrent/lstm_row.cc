#include "sluice/operators/recurrent/lstm_row.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "sluice/operators/math/simd_loops-inl.h"
#include "sluice/platform/cpu/simd_dispatch.h"
#include "sluice/platform/dtype_sets.h"

HWY_BEFORE_NAMESPACE();
namespace sluice {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// grad * y (1 - y), the gradient of y = sigmoid(x).
template <class V>
HWY_INLINE V SigmoidGrad(V grad, V y) {
  return hn::Mul(grad, hn::NegMulAdd(y, y, y));
}

// grad * (1 - y^2), the gradient of y = tanh(x).
template <class V>
HWY_INLINE V TanhGrad(V grad, V y) {
  const auto one = hn::Set(hn::DFromV<V>(), 1);
  return hn::Mul(grad, hn::NegMulAdd(y, y, one));
}

// `load` and `store` take an array and read or write the elements at one place.
template <typename T, class Load, class Store>
HWY_INLINE void Elements(const LstmRowGradArgs<T>& row,
                         const Load& load,
                         const Store& store) {
  const auto in = load(row.in);
  const auto out = load(row.out);
  const auto forget = load(row.forget);
  const auto candidate = load(row.candidate);
  const auto cells = load(row.tanh_of_cells);
  const auto h = load(row.h_grad);
  const auto c = hn::Add(load(row.c_grad), TanhGrad(hn::Mul(h, out), cells));
  store(SigmoidGrad(hn::Mul(h, cells), out), row.out_grad);
  store(SigmoidGrad(hn::Mul(c, candidate), in), row.in_grad);
  store(TanhGrad(hn::Mul(c, in), candidate), row.candidate_grad);
  // Cells of 0 keep NaN, too.
  auto before = hn::Zero(hn::DFromV<decltype(c)>());
  if (row.cells_before != nullptr) before = load(row.cells_before);
  store(SigmoidGrad(hn::Mul(c, before), forget), row.forget_grad);
  store(hn::Mul(c, forget), row.c_grad);
}

// Computes whole vectors from element `first` on; returns where they end.
template <class D, typename T>
HWY_INLINE int64_t Vectors(D d, int64_t first, const LstmRowGradArgs<T>& row) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t j = first;
  for (; j + lanes <= row.count; j += lanes) {
    Elements(
        row, [&](const T* from) HWY_ATTR { return hn::LoadU(d, from + j); },
        [&](auto v, T* to) HWY_ATTR { hn::StoreU(v, d, to + j); });
  }
  return j;
}

template <typename T>
void GradOfRow(const LstmRowGradArgs<T>& row) {
  Vectors(hn::CappedTag<T, 1>(), Vectors(hn::ScalableTag<T>(), 0, row), row);
}

template <typename T>
void Cells(
    const T* in, const T* forget, const T* candidate, int64_t count, T* c) {
  const auto step = [=](auto d, int64_t j) HWY_ATTR {
    const auto more =
        hn::Mul(hn::LoadU(d, in + j), hn::LoadU(d, candidate + j));
    return hn::MulAdd(hn::LoadU(d, forget + j), hn::LoadU(d, c + j), more);
  };
  ForEachElement(step, count, c);
}

template <typename T>
void Products(const T* x, const T* y, int64_t count, T* out) {
  const auto step = [=](auto d, int64_t j) HWY_ATTR {
    return hn::Mul(hn::LoadU(d, x + j), hn::LoadU(d, y + j));
  };
  ForEachElement(step, count, out);
}

SLUICE_SIMD_FLOATS(GradOfRow);
SLUICE_SIMD_FLOATS(Cells);
SLUICE_SIMD_FLOATS(Products);

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice {
namespace {

SLUICE_EXPORT_FLOATS(GradOfRow);
SLUICE_EXPORT_FLOATS(Cells);
SLUICE_EXPORT_FLOATS(Products);

}  // namespace

template <typename T>
void LstmRowGrad(const LstmRowGradArgs<T>& row) {
  GradOfRowFor<T>()(row);
}

template <typename T>
void LstmCells(
    const T* in, const T* forget, const T* candidate, int64_t count, T* c) {
  CellsFor<T>()(in, forget, candidate, count, c);
}

template <typename T>
void MultiplyRow(const T* x, const T* y, int64_t count, T* out) {
  ProductsFor<T>()(x, y, count, out);
}

SLUICE_INSTANTIATE_FLOATS(LstmRowGrad);
SLUICE_INSTANTIATE_FLOATS(LstmCells);
SLUICE_INSTANTIATE_FLOATS(MultiplyRow);

}  // namespace sluice
#endif  // HWY_ONCE
