#include <algorithm>

#include "sluice/operators/math/sequence/embedding_mask.h"
#include "sluice/platform/dtype_sets.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

// Computes the gradient of every pixel of mask m: mean_grad / count.
template <typename T, typename S>
void ShareOut(const T* mean_grad,
              const S* mask,
              const EmbeddingMaskSizes& sizes,
              int64_t m,
              T* shares) {
  const S* runs = mask + m * sizes.x * 2;
  int64_t pixels = 0;
  for (int64_t x = 0; x < sizes.x; ++x) {
    pixels += runs[2 * x + 1] - runs[2 * x];
  }
  // Shares of an empty mask are never read.
  if (pixels == 0) return;
  for (int64_t f = m * sizes.features; f < (m + 1) * sizes.features; ++f) {
    shares[f] = static_cast<T>(static_cast<double>(mean_grad[f]) /
                               static_cast<double>(pixels));
  }
}

// Computes column x of image b.
template <typename T, typename S>
void AddShares(const T* shares,
               const S* mask,
               const EmbeddingMaskSizes& sizes,
               int64_t b,
               int64_t x,
               T* column) {
  const int64_t features = sizes.features;
  std::fill(column, column + sizes.y * features, T{0});
  for (int64_t m = b * sizes.masks; m < (b + 1) * sizes.masks; ++m) {
    const S* run = mask + (m * sizes.x + x) * 2;
    const T* from = shares + m * features;
    for (int64_t y = run[0]; y < run[1]; ++y) {
      T* to = column + y * features;
      for (int64_t f = 0; f < features; ++f) {
        to[f] += from[f];
      }
    }
  }
}

}  // namespace

template <typename T, typename S>
void AverageEmbeddingMaskGradient(const T* mean_grad,
                                  const S* mask,
                                  const EmbeddingMaskSizes& sizes,
                                  T* shares,
                                  T* embedding_grad) {
  ParallelFor(sizes.batch * sizes.masks,
              EmbeddingMaskGrain(sizes.x + sizes.features),
              [&](int64_t begin, int64_t end) {
                for (int64_t m = begin; m < end; ++m) {
                  ShareOut(mean_grad, mask, sizes, m, shares);
                }
              });
  const int64_t column = sizes.y * sizes.features;
  ParallelFor(sizes.batch * sizes.x, EmbeddingMaskGrain(column + sizes.masks),
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                  AddShares(shares, mask, sizes, i / sizes.x, i % sizes.x,
                            embedding_grad + i * column);
                }
              });
}

SLUICE_INSTANTIATE(AverageEmbeddingMaskGradient, float, int32_t);
SLUICE_INSTANTIATE(AverageEmbeddingMaskGradient, float, int64_t);
SLUICE_INSTANTIATE(AverageEmbeddingMaskGradient, double, int32_t);
SLUICE_INSTANTIATE(AverageEmbeddingMaskGradient, double, int64_t);

}  // namespace sluice
