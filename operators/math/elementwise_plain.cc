#include "sluice/operators/math/elementwise.h"

namespace sluice::operators::math {

template <typename T>
void AddContiguousPlain(const T* x, const T* y, int64_t count, T* out) {
  for (int64_t i = 0; i < count; ++i)
    out[i] = x[i] + y[i];
}

template <typename T>
void ScaleContiguousPlain(const T* x, T scale, T bias, int64_t count, T* out) {
  for (int64_t i = 0; i < count; ++i)
    out[i] = x[i] * scale + bias;
}

#define SLUICE_INSTANTIATE(T)                                              \
  template SLUICE_API void AddContiguousPlain(const T*, const T*, int64_t, \
                                              T*);                         \
  template SLUICE_API void ScaleContiguousPlain(const T*, T, T, int64_t, T*)
SLUICE_INSTANTIATE(float);
SLUICE_INSTANTIATE(double);
#undef SLUICE_INSTANTIATE

}  // namespace sluice::operators::math
