#include "sluice/operators/math/activations.h"

// HWY_TARGET_INCLUDE makes this file include itself once for every
// instruction set.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | SLUICE_SIZELESS_TARGETS)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/operators/math/activations.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "sluice/operators/math/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sluice::operators::math {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <UnaryOp kOp>
struct ForwardStep {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x, V /*unused*/) const {
    if constexpr (kOp == UnaryOp::kAbs) return hn::Abs(x);
    if constexpr (kOp == UnaryOp::kExp) return SimdExp(d, x);
    if constexpr (kOp == UnaryOp::kLog) return SimdLog(d, x);
    if constexpr (kOp == UnaryOp::kRelu) {
      return hn::IfThenZeroElse(hn::Le(x, hn::Zero(d)), x);
    }
    if constexpr (kOp == UnaryOp::kSigmoid) return SimdSigmoid(d, x);
    if constexpr (kOp == UnaryOp::kSqrt) return hn::Sqrt(x);
    if constexpr (kOp == UnaryOp::kSquare) return hn::Mul(x, x);
    if constexpr (kOp == UnaryOp::kTanh) return SimdTanh(d, x);
  }
};

template <UnaryOp kOp>
struct GradStep {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V seen, V grad) const {
    using T = hn::TFromD<D>;
    const V zero = hn::Zero(d);
    const V one = hn::Set(d, T{1});
    if constexpr (kOp == UnaryOp::kAbs) {
      const V signed_grad =
          hn::IfThenElse(hn::Lt(seen, zero), hn::Neg(grad), grad);
      return hn::IfThenZeroElse(hn::Eq(seen, zero), signed_grad);
    }
    if constexpr (kOp == UnaryOp::kExp) return hn::Mul(grad, seen);
    if constexpr (kOp == UnaryOp::kLog) return hn::Div(grad, seen);
    if constexpr (kOp == UnaryOp::kRelu) {
      return hn::IfThenZeroElse(hn::Le(seen, zero), grad);
    }
    if constexpr (kOp == UnaryOp::kSigmoid) {
      return hn::Mul(hn::Mul(grad, seen), hn::Sub(one, seen));
    }
    if constexpr (kOp == UnaryOp::kSqrt) {
      return hn::Div(hn::Mul(grad, hn::Set(d, static_cast<T>(0.5))), seen);
    }
    if constexpr (kOp == UnaryOp::kSquare) {
      return hn::Mul(grad, hn::Add(seen, seen));
    }
    if constexpr (kOp == UnaryOp::kTanh) {
      // Not 1 - y * y, which loses digits where y is nearly 1.
      return hn::Mul(grad, hn::Mul(hn::Sub(one, seen), hn::Add(one, seen)));
    }
  }
};

// out[i] = step(a[i], b[i]).
template <typename T, class Step>
HWY_INLINE void ForEachPair(
    const Step& step, const T* a, const T* b, int64_t count, T* out) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = hn::MaxLanes(d);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    hn::StoreU(step(d, hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, out + i);
  }
  if (i == count) return;
  HWY_ALIGN T last_a[kLanes] = {};
  HWY_ALIGN T last_b[kLanes] = {};
  for (int64_t j = 0; i + j < count; ++j) {
    last_a[j] = a[i + j];
    last_b[j] = b[i + j];
  }
  hn::Store(step(d, hn::Load(d, last_a), hn::Load(d, last_b)), d, last_a);
  for (int64_t j = 0; i + j < count; ++j) {
    out[i + j] = last_a[j];
  }
}

template <template <UnaryOp> class Step, typename T>
HWY_INLINE void Apply(
    UnaryOp op, const T* a, const T* b, int64_t count, T* out) {
  switch (op) {
    case UnaryOp::kAbs:
      return ForEachPair(Step<UnaryOp::kAbs>(), a, b, count, out);
    case UnaryOp::kExp:
      return ForEachPair(Step<UnaryOp::kExp>(), a, b, count, out);
    case UnaryOp::kLog:
      return ForEachPair(Step<UnaryOp::kLog>(), a, b, count, out);
    case UnaryOp::kRelu:
      return ForEachPair(Step<UnaryOp::kRelu>(), a, b, count, out);
    case UnaryOp::kSigmoid:
      return ForEachPair(Step<UnaryOp::kSigmoid>(), a, b, count, out);
    case UnaryOp::kSqrt:
      return ForEachPair(Step<UnaryOp::kSqrt>(), a, b, count, out);
    case UnaryOp::kSquare:
      return ForEachPair(Step<UnaryOp::kSquare>(), a, b, count, out);
    case UnaryOp::kTanh:
      return ForEachPair(Step<UnaryOp::kTanh>(), a, b, count, out);
  }
}

void UnaryF32(UnaryOp op, const float* x, int64_t count, float* out) {
  Apply<ForwardStep>(op, x, x, count, out);
}
void UnaryF64(UnaryOp op, const double* x, int64_t count, double* out) {
  Apply<ForwardStep>(op, x, x, count, out);
}
void UnaryGradF32(UnaryOp op,
                  const float* seen,
                  const float* out_grad,
                  int64_t count,
                  float* x_grad) {
  Apply<GradStep>(op, seen, out_grad, count, x_grad);
}
void UnaryGradF64(UnaryOp op,
                  const double* seen,
                  const double* out_grad,
                  int64_t count,
                  double* x_grad) {
  Apply<GradStep>(op, seen, out_grad, count, x_grad);
}

}  // namespace HWY_NAMESPACE
}  // namespace sluice::operators::math
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::operators::math {
namespace {

HWY_EXPORT(UnaryF32);
HWY_EXPORT(UnaryF64);
HWY_EXPORT(UnaryGradF32);
HWY_EXPORT(UnaryGradF64);

}  // namespace

template <>
SLUICE_API void UnaryContiguous(UnaryOp op,
                                const float* x,
                                int64_t count,
                                float* out) {
  HWY_DYNAMIC_DISPATCH(UnaryF32)(op, x, count, out);
}
template <>
SLUICE_API void UnaryContiguous(UnaryOp op,
                                const double* x,
                                int64_t count,
                                double* out) {
  HWY_DYNAMIC_DISPATCH(UnaryF64)(op, x, count, out);
}
template <>
SLUICE_API void UnaryGradContiguous(UnaryOp op,
                                    const float* seen,
                                    const float* out_grad,
                                    int64_t count,
                                    float* x_grad) {
  HWY_DYNAMIC_DISPATCH(UnaryGradF32)(op, seen, out_grad, count, x_grad);
}
template <>
SLUICE_API void UnaryGradContiguous(UnaryOp op,
                                    const double* seen,
                                    const double* out_grad,
                                    int64_t count,
                                    double* x_grad) {
  HWY_DYNAMIC_DISPATCH(UnaryGradF64)(op, seen, out_grad, count, x_grad);
}

}  // namespace sluice::operators::math
#endif  // HWY_ONCE
