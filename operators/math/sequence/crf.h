#pragma once

#include <cstdint>

#include "sluice/platform/export.h"

// A linear-chain conditional random field, one sequence at a time and in
// logarithms, so that no weight is too large or too small. A path y of tags
// has the score start[y0] + e[0, y0] + pair[y0, y1] + e[1, y1] + ... +
// end[y_last], and the probability exp(score) / Z. T is float or double; sums
// are in double.
namespace sluice::operators::math {

// What all sequences share: rows start, end, then pair[from][to], of `tags`
// weights each.
template <typename T>
struct CrfWeights {
  const T* transition;
  int64_t tags;

  const T* start() const { return transition; }
  const T* end() const { return transition + tags; }
  const T* pair(int64_t from) const { return transition + (2 + from) * tags; }
};

// Doubles of scratch that CrfCost and CrfGradient need for sequences of up to
// `length` positions.
inline int64_t CrfCostScratch(int64_t tags) {
  return 3 * tags;
}
inline int64_t CrfGradientScratch(int64_t length, int64_t tags) {
  return (length + 3) * tags;
}

// -log of the probability of `label`, for emissions [length, tags].
template <typename T>
SLUICE_API double CrfCost(const CrfWeights<T>& weights,
                          const T* emission,
                          const int64_t* label,
                          int64_t length,
                          double* scratch);

// Adds `scale` times the gradient of CrfCost to transition_grad [tags + 2,
// tags], and sets emission_grad [length, tags] to it (nullptr: not wanted).
template <typename T>
SLUICE_API void CrfGradient(const CrfWeights<T>& weights,
                            const T* emission,
                            const int64_t* label,
                            int64_t length,
                            double scale,
                            T* emission_grad,
                            double* transition_grad,
                            double* scratch);

// The path with the highest score. Where several have it, the one with the
// smallest last tag, then the smallest tag before it, and so on. `scores` has
// room for 2 * tags numbers, `back` for length * tags.
template <typename T>
SLUICE_API void CrfDecode(const CrfWeights<T>& weights,
                          const T* emission,
                          int64_t length,
                          int64_t* path,
                          double* scores,
                          int32_t* back);

}  // namespace sluice::operators::math
