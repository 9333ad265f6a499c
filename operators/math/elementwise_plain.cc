#include "sluice/operators/math/elementwise.h"

namespace sluice::operators::math {

template <typename T>
void AddContiguousPlain(const T* x, const T* y, int64_t count, T* out) {
  for (int64_t i = 0; i < count; ++i) {
    out[i] = x[i] + y[i];
  }
}

template <typename T>
void ScaleContiguousPlain(const T* x, T scale, T bias, int64_t count, T* out) {
  for (int64_t i = 0; i < count; ++i) {
    out[i] = x[i] * scale + bias;
  }
}

template SLUICE_API void AddContiguousPlain(const float*,
                                            const float*,
                                            int64_t,
                                            float*);
template SLUICE_API void ScaleContiguousPlain(
    const float*, float, float, int64_t, float*);
template SLUICE_API void AddContiguousPlain(const double*,
                                            const double*,
                                            int64_t,
                                            double*);
template SLUICE_API void ScaleContiguousPlain(
    const double*, double, double, int64_t, double*);

}  // namespace sluice::operators::math
