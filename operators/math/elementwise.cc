#include "sluice/operators/math/elementwise.h"

// HWY_TARGET_INCLUDE makes this file include itself once for every
// instruction set.
#define HWY_DISABLED_TARGETS SLUICE_DISABLED_TARGETS
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/operators/math/elementwise.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "sluice/operators/math/simd_loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sluice::operators::math {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
struct AddStep {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, int64_t i) const {
    return hn::Add(hn::LoadU(d, x + i), hn::LoadU(d, y + i));
  }
  const T* x;
  const T* y;
};

template <typename T>
struct ScaleStep {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, int64_t i) const {
    return hn::Add(hn::Mul(hn::LoadU(d, x + i), hn::Set(d, scale)),
                   hn::Set(d, bias));
  }
  const T* x;
  T scale, bias;
};

void AddF32(const float* x, const float* y, int64_t count, float* out) {
  ForEachElement(AddStep<float>{x, y}, count, out);
}
void AddF64(const double* x, const double* y, int64_t count, double* out) {
  ForEachElement(AddStep<double>{x, y}, count, out);
}
void ScaleF32(
    const float* x, float scale, float bias, int64_t count, float* out) {
  ForEachElement(ScaleStep<float>{x, scale, bias}, count, out);
}
void ScaleF64(
    const double* x, double scale, double bias, int64_t count, double* out) {
  ForEachElement(ScaleStep<double>{x, scale, bias}, count, out);
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

}  // namespace sluice::operators::math
#endif  // HWY_ONCE
