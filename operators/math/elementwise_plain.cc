#include "sluice/operators/math/elementwise.h"
#include "sluice/platform/dtype_sets.h"

namespace sluice {

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

SLUICE_INSTANTIATE_FLOATS(AddContiguousPlain);
SLUICE_INSTANTIATE_FLOATS(ScaleContiguousPlain);

}  // namespace sluice
