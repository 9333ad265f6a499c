#include "sluice/operators/math/elementwise.h"

// HWY_TARGET_INCLUDE makes this file include itself once for every
// instruction set.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | SLUICE_SIZELESS_TARGETS)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/operators/math/elementwise.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace sluice::operators::math {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <BinaryOp kOp, class V>
HWY_INLINE V Apply(V x, V y) {
  if constexpr (kOp == BinaryOp::kAdd) return hn::Add(x, y);
  if constexpr (kOp == BinaryOp::kSub) return hn::Sub(x, y);
  if constexpr (kOp == BinaryOp::kMul) return hn::Mul(x, y);
  if constexpr (kOp == BinaryOp::kDiv) return hn::Div(x, y);
}

template <BinaryOp kOp>
struct BothStep {
  template <class D, class V, typename T>
  HWY_INLINE V operator()(D d, V x, const T* y) const {
    return Apply<kOp>(x, hn::LoadU(d, y));
  }
};

// One number on the left, or on the right.
template <BinaryOp kOp, typename T>
struct LeftStep {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V y, const T* /*y*/) const {
    return Apply<kOp>(hn::Set(d, left), y);
  }
  T left;
};
template <BinaryOp kOp, typename T>
struct RightStep {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, const T* /*y*/) const {
    return Apply<kOp>(x, hn::Set(d, right));
  }
  T right;
};

template <typename T>
struct ScaleStep {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, const T* /*y*/) const {
    return hn::Add(hn::Mul(x, hn::Set(d, scale)), hn::Set(d, bias));
  }
  T scale, bias;
};

// out[i] = step(x[i], y + i) from i on, while kN elements are left. No vector
// overlaps another, for out may be x or y.
template <int64_t kN, typename T, class Step>
HWY_INLINE int64_t ForEach(const Step& step,
                           const T* x,
                           const T* y,
                           int64_t i,
                           int64_t count,
                           T* out) {
  const hn::CappedTag<T, kN> d;
  constexpr int64_t kLanes = hn::MaxLanes(d);
  for (; i + kLanes <= count; i += kLanes) {
    hn::StoreU(step(d, hn::LoadU(d, x + i), y + i), d, out + i);
  }
  return i;
}

template <typename T, class Step>
HWY_INLINE void ForEachElement(
    const Step& step, const T* x, const T* y, int64_t count, T* out) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = hn::MaxLanes(d);
  int64_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    const auto a = step(d, hn::LoadU(d, x + i), y + i);
    const auto b = step(d, hn::LoadU(d, x + i + kLanes), y + i + kLanes);
    hn::StoreU(a, d, out + i);
    hn::StoreU(b, d, out + i + kLanes);
  }
  i = ForEach<kLanes>(step, x, y, i, count, out);
  if (i == count) return;
  if constexpr (kLanes > 8) i = ForEach<8>(step, x, y, i, count, out);
  if constexpr (kLanes > 4) i = ForEach<4>(step, x, y, i, count, out);
  ForEach<1>(step, x, y, i, count, out);
}

void AddF32(const float* x, const float* y, int64_t count, float* out) {
  ForEachElement(BothStep<BinaryOp::kAdd>(), x, y, count, out);
}
void AddF64(const double* x, const double* y, int64_t count, double* out) {
  ForEachElement(BothStep<BinaryOp::kAdd>(), x, y, count, out);
}

// Calls visit with a type that holds `op` as kValue.
template <BinaryOp kOp>
struct OpConstant {
  static constexpr BinaryOp kValue = kOp;
};
template <class Visit>
HWY_INLINE void VisitOp(BinaryOp op, const Visit& visit) {
  switch (op) {
    case BinaryOp::kAdd:
      return visit(OpConstant<BinaryOp::kAdd>());
    case BinaryOp::kSub:
      return visit(OpConstant<BinaryOp::kSub>());
    case BinaryOp::kMul:
      return visit(OpConstant<BinaryOp::kMul>());
    case BinaryOp::kDiv:
      return visit(OpConstant<BinaryOp::kDiv>());
  }
}

template <typename T>
HWY_INLINE void Both(
    BinaryOp op, const T* x, const T* y, int64_t count, T* out) {
  VisitOp(op, [=](auto constant) HWY_ATTR {
    ForEachElement(BothStep<constant.kValue>(), x, y, count, out);
  });
}
template <typename T>
HWY_INLINE void Left(BinaryOp op, T x, const T* y, int64_t count, T* out) {
  VisitOp(op, [=](auto constant) HWY_ATTR {
    ForEachElement(LeftStep<constant.kValue, T>{x}, y, y, count, out);
  });
}
template <typename T>
HWY_INLINE void Right(BinaryOp op, const T* x, T y, int64_t count, T* out) {
  VisitOp(op, [=](auto constant) HWY_ATTR {
    ForEachElement(RightStep<constant.kValue, T>{y}, x, x, count, out);
  });
}

void BothF32(
    BinaryOp op, const float* x, const float* y, int64_t count, float* out) {
  Both(op, x, y, count, out);
}
void BothF64(
    BinaryOp op, const double* x, const double* y, int64_t count, double* out) {
  Both(op, x, y, count, out);
}
void LeftF32(BinaryOp op, float x, const float* y, int64_t count, float* out) {
  Left(op, x, y, count, out);
}
void LeftF64(
    BinaryOp op, double x, const double* y, int64_t count, double* out) {
  Left(op, x, y, count, out);
}
void RightF32(BinaryOp op, const float* x, float y, int64_t count, float* out) {
  Right(op, x, y, count, out);
}
void RightF64(
    BinaryOp op, const double* x, double y, int64_t count, double* out) {
  Right(op, x, y, count, out);
}
void ScaleF32(
    const float* x, float scale, float bias, int64_t count, float* out) {
  ForEachElement(ScaleStep<float>{scale, bias}, x, x, count, out);
}
void ScaleF64(
    const double* x, double scale, double bias, int64_t count, double* out) {
  ForEachElement(ScaleStep<double>{scale, bias}, x, x, count, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace sluice::operators::math
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::operators::math {
namespace {

HWY_EXPORT(AddF32);
HWY_EXPORT(AddF64);
HWY_EXPORT(ScaleF32);
HWY_EXPORT(ScaleF64);
HWY_EXPORT(BothF32);
HWY_EXPORT(BothF64);
HWY_EXPORT(LeftF32);
HWY_EXPORT(LeftF64);
HWY_EXPORT(RightF32);
HWY_EXPORT(RightF64);

}  // namespace

template <>
SLUICE_API void AddContiguous(const float* x,
                              const float* y,
                              int64_t count,
                              float* out) {
  HWY_DYNAMIC_DISPATCH(AddF32)(x, y, count, out);
}
template <>
SLUICE_API void AddContiguous(const double* x,
                              const double* y,
                              int64_t count,
                              double* out) {
  HWY_DYNAMIC_DISPATCH(AddF64)(x, y, count, out);
}
template <>
SLUICE_API void ScaleContiguous(
    const float* x, float scale, float bias, int64_t count, float* out) {
  HWY_DYNAMIC_DISPATCH(ScaleF32)(x, scale, bias, count, out);
}
template <>
SLUICE_API void ScaleContiguous(
    const double* x, double scale, double bias, int64_t count, double* out) {
  HWY_DYNAMIC_DISPATCH(ScaleF64)(x, scale, bias, count, out);
}
template <>
SLUICE_API void BinaryContiguous(
    BinaryOp op, const float* x, const float* y, int64_t count, float* out) {
  HWY_DYNAMIC_DISPATCH(BothF32)(op, x, y, count, out);
}
template <>
SLUICE_API void BinaryContiguous(
    BinaryOp op, float x, const float* y, int64_t count, float* out) {
  HWY_DYNAMIC_DISPATCH(LeftF32)(op, x, y, count, out);
}
template <>
SLUICE_API void BinaryContiguous(
    BinaryOp op, const float* x, float y, int64_t count, float* out) {
  HWY_DYNAMIC_DISPATCH(RightF32)(op, x, y, count, out);
}
template <>
SLUICE_API void BinaryContiguous(
    BinaryOp op, const double* x, const double* y, int64_t count, double* out) {
  HWY_DYNAMIC_DISPATCH(BothF64)(op, x, y, count, out);
}
template <>
SLUICE_API void BinaryContiguous(
    BinaryOp op, double x, const double* y, int64_t count, double* out) {
  HWY_DYNAMIC_DISPATCH(LeftF64)(op, x, y, count, out);
}
template <>
SLUICE_API void BinaryContiguous(
    BinaryOp op, const double* x, double y, int64_t count, double* out) {
  HWY_DYNAMIC_DISPATCH(RightF64)(op, x, y, count, out);
}

}  // namespace sluice::operators::math
#endif  // HWY_ONCE
