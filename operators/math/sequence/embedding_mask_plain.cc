#include <algorithm>
#include <limits>
#include <type_traits>

#include "sluice/operators/math/sequence/embedding_mask.h"
#include "sluice/platform/dtype_sets.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

// As unsigned numbers, a negative end is above y, and a negative start is above
// every non-negative end.
template <typename S>
bool IsValidRun(const S* run, S y) {
  using U = std::make_unsigned_t<S>;
  return static_cast<U>(run[0]) <= static_cast<U>(run[1]) &&
         static_cast<U>(run[1]) <= static_cast<U>(y);
}

}  // namespace

template <typename S>
int64_t FindInvalidRun(const S* mask, int64_t runs, int64_t y) {
  const S limit =
      static_cast<S>(std::min<int64_t>(y, std::numeric_limits<S>::max()));
  // Blocks without an early exit are fast to check.
  constexpr int64_t kBlock = 256;
  for (int64_t begin = 0; begin < runs; begin += kBlock) {
    const int64_t end = std::min(runs, begin + kBlock);
    int valid = 1;
    for (int64_t i = begin; i < end; ++i) {
      valid &= static_cast<int>(IsValidRun(mask + 2 * i, limit));
    }
    for (int64_t i = begin; valid == 0 && i < end; ++i) {
      if (!IsValidRun(mask + 2 * i, limit)) return i;
    }
  }
  return -1;
}

template <typename T, typename S>
void AverageEmbeddingMaskPlain(const T* embedding,
                               const S* mask,
                               const EmbeddingMaskSizes& sizes,
                               T* mean,
                               int64_t* count) {
  const int64_t masks = sizes.masks, features = sizes.features;
  const int64_t x_size = sizes.x, y_size = sizes.y;
  const auto one_mask = [=](int64_t b, int64_t m) {
    const S* runs = mask + (b * masks + m) * x_size * 2;
    int64_t pixels = 0;
    for (int64_t x = 0; x < x_size; ++x) {
      pixels += runs[2 * x + 1] - runs[2 * x];
    }
    count[b * masks + m] = pixels;
    for (int64_t f = 0; f < features; ++f) {
      double sum = 0;
      for (int64_t x = 0; x < x_size; ++x) {
        for (int64_t y = runs[2 * x]; y < runs[2 * x + 1]; ++y) {
          sum += embedding[((b * x_size + x) * y_size + y) * features + f];
        }
      }
      mean[(b * masks + m) * features + f] =
          static_cast<T>(pixels > 0 ? sum / static_cast<double>(pixels) : 0.0);
    }
  };
  ParallelFor(sizes.batch * masks, 1, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      one_mask(i / masks, i % masks);
    }
  });
}

SLUICE_INSTANTIATE(AverageEmbeddingMaskPlain, float, int32_t);
SLUICE_INSTANTIATE(AverageEmbeddingMaskPlain, float, int64_t);
SLUICE_INSTANTIATE(AverageEmbeddingMaskPlain, double, int32_t);
SLUICE_INSTANTIATE(AverageEmbeddingMaskPlain, double, int64_t);
SLUICE_INSTANTIATE_INDICES(FindInvalidRun);

}  // namespace sluice
