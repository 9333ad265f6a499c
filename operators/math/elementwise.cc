#include "sluice/operators/math/elementwise.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "sluice/operators/math/simd_loops-inl.h"
#include "sluice/platform/cpu/simd_dispatch.h"
#include "sluice/platform/dtype_sets.h"

HWY_BEFORE_NAMESPACE();
namespace sluice {
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

template <typename T>
void Add(const T* x, const T* y, int64_t count, T* out) {
  ForEachElement(AddStep<T>{x, y}, count, out);
}
template <typename T>
void Scale(const T* x, T scale, T bias, int64_t count, T* out) {
  ForEachElement(ScaleStep<T>{x, scale, bias}, count, out);
}
SLUICE_SIMD_FLOATS(Add);
SLUICE_SIMD_FLOATS(Scale);

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice {
namespace {

SLUICE_EXPORT_FLOATS(Add);
SLUICE_EXPORT_FLOATS(Scale);

}  // namespace

template <typename T>
void AddContiguous(const T* x, const T* y, int64_t count, T* out) {
  AddFor<T>()(x, y, count, out);
}
template <typename T>
void ScaleContiguous(const T* x, T scale, T bias, int64_t count, T* out) {
  ScaleFor<T>()(x, scale, bias, count, out);
}
SLUICE_INSTANTIATE_FLOATS(AddContiguous);
SLUICE_INSTANTIATE_FLOATS(ScaleContiguous);

}  // namespace sluice
#endif  // HWY_ONCE
