#include <algorithm>
#include <cmath>

#include "sluice/operators/math/distance/manhattan_distance.h"
#include "sluice/platform/cancel.h"
#include "sluice/platform/dtype_sets.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

// out[i, k] = sum_j g(i, j) * sign(x[i, k] - y[j, k]), where g(i, j) is
// g[i * g_row + j * g_column].
template <typename T>
void OneSide(const T* x,
             const T* y,
             const T* g,
             int64_t g_row,
             int64_t g_column,
             T* out,
             int64_t rows,
             int64_t columns,
             int64_t p) {
  constexpr int64_t kWidth = 64;
  ParallelFor(rows, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      CheckCancelled();
      for (int64_t first = 0; first < p; first += kWidth) {
        const int64_t width = std::min(kWidth, p - first);
        double sums[kWidth] = {};
        for (int64_t j = 0; j < columns; ++j) {
          const double weight = g[i * g_row + j * g_column];
          for (int64_t k = 0; k < width; ++k) {
            const T a = x[i * p + first + k], b = y[j * p + first + k];
            if (a > b) sums[k] += weight;
            if (a < b) sums[k] -= weight;
          }
        }
        for (int64_t k = 0; k < width; ++k) {
          out[i * p + first + k] = static_cast<T>(sums[k]);
        }
      }
    }
  });
}

}  // namespace

template <typename T>
void ManhattanDistancePlain(
    const T* x, const T* y, T* z, int64_t n, int64_t m, int64_t p) {
  ParallelFor(n, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      CheckCancelled();
      for (int64_t j = 0; j < m; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < p; ++k) {
          sum += std::abs(x[i * p + k] - y[j * p + k]);
        }
        z[i * m + j] = static_cast<T>(sum);
      }
    }
  });
}

template <typename T>
void ManhattanDistanceGradPlain(const T* x,
                                const T* y,
                                const T* gz,
                                T* gx,
                                T* gy,
                                int64_t n,
                                int64_t m,
                                int64_t p) {
  if (gx != nullptr) OneSide(x, y, gz, m, 1, gx, n, m, p);
  // d|x - y|/dy is sign(y - x): the same sum with x and y exchanged.
  if (gy != nullptr) OneSide(y, x, gz, 1, m, gy, m, n, p);
}

SLUICE_INSTANTIATE_FLOATS(ManhattanDistancePlain);
SLUICE_INSTANTIATE_FLOATS(ManhattanDistanceGradPlain);

}  // namespace sluice
