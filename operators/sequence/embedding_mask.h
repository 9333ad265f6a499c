#pragma once

#include <cstdint>

#include "sluice/platform/export.h"

// Means of embeddings over run-length coded masks, in row-major host memory.
//
//   embedding [B, X, Y, N]   N features for each pixel (x, y) of B images
//   mask      [B, M, X, 2]   M masks an image; for each x the run
//                            start <= y < end
//   mean      [B, M, N]      over all pixels of a mask; 0 for an empty one
//   count     [B, M]         pixels of each mask
//
// T is float or double, S is int32_t or int64_t. Sizes may be 0. Masks must be
// valid (FindInvalidRun finds none). Only pixels inside a mask are read for it:
// a NaN elsewhere has no effect. Sums are never differences of larger sums.
// Runs are summed in T in blocks of at most 16 pixels (more if Y is above
// 8192), and across runs in double. The error is near 1e-6 (float) of the mean
// magnitude.
namespace sluice {

struct EmbeddingMaskSizes {
  int64_t batch, x, y, features, masks;  // B, X, Y, N, M
};

// Returns the index, in the order of `mask`, of the first of `runs` runs that
// violates 0 <= start <= end <= y; -1 if all are valid.
template <typename S>
SLUICE_API int64_t FindInvalidRun(const S* mask, int64_t runs, int64_t y);

// Runs through ParallelFor with the best instruction set. Uses 64 KB of stack a
// thread. The bits of a mask depend neither on the number of threads nor on
// other masks.
template <typename T, typename S>
SLUICE_API void AverageEmbeddingMask(const T* embedding,
                                     const S* mask,
                                     const EmbeddingMaskSizes& sizes,
                                     T* mean,
                                     int64_t* count);

// Evaluates the formula directly.
template <typename T, typename S>
SLUICE_API void AverageEmbeddingMaskPlain(const T* embedding,
                                          const S* mask,
                                          const EmbeddingMaskSizes& sizes,
                                          T* mean,
                                          int64_t* count);

// Sets the gradient of each pixel to the sum of mean_grad / count over the
// masks that cover it. `shares` is scratch memory of mean_grad's size. The bits
// do not depend on the number of threads.
template <typename T, typename S>
SLUICE_API void AverageEmbeddingMaskGradient(const T* mean_grad,
                                             const S* mask,
                                             const EmbeddingMaskSizes& sizes,
                                             T* shares,
                                             T* embedding_grad);

// Returns the minimum number of items for a thread, each of `elements` numbers.
inline int64_t EmbeddingMaskGrain(int64_t elements) {
  return 1 + 100'000 / (elements + 1);
}

}  // namespace sluice
