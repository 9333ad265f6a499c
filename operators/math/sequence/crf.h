#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "sluice/operators/math/sequence/viterbi_step.h"
#include "sluice/platform/export.h"

// A linear-chain conditional random field, for one sequence at a time. It works
// with logarithms, so that no weight is too large or too small. A path y of
// tags has the score start[y0] + e[0, y0] + pair[y0, y1] + e[1, y1] + ... +
// end[y_last] and the probability exp(score) / Z. T is float or double; sums
// are in double.
namespace sluice {

// Returns the largest weight, or 0 if that is not finite.
template <typename T>
double LargestWeight(const T* weights, int64_t count) {
  double largest = -std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < count; ++i) {
    largest = std::max(largest, static_cast<double>(weights[i]));
  }
  return std::isfinite(largest) ? largest : 0;
}

// The weights that all sequences share: rows start, end, then pair[from][to],
// each of `tags` weights. Every path has one start, one end and equally many
// pairs, so that subtracting a number from all of a kind changes nothing. The
// weights are relative to their largest; an offset then costs no digits.
template <typename T>
class CrfWeights {
 public:
  CrfWeights(const T* transition, int64_t tags)
      : transition_(transition),
        tags_(tags),
        start_(LargestWeight(transition, tags)),
        end_(LargestWeight(transition + tags, tags)),
        pair_(LargestWeight(transition + 2 * tags, tags * tags)) {}

  int64_t tags() const { return tags_; }
  double start(int64_t tag) const {
    return static_cast<double>(transition_[tag]) - start_;
  }
  double end(int64_t tag) const {
    return static_cast<double>(transition_[tags_ + tag]) - end_;
  }
  double pair(int64_t from, int64_t to) const {
    return static_cast<double>(transition_[(2 + from) * tags_ + to]) - pair_;
  }

 private:
  const T* transition_;
  int64_t tags_;
  double start_, end_, pair_;
};

// The doubles of scratch that CrfCost and CrfGradient need for sequences of up
// to `length` positions.
inline int64_t CrfCostScratch(int64_t tags) {
  return 3 * tags;
}
inline int64_t CrfGradientScratch(int64_t length, int64_t tags) {
  return (length + 4) * tags + length;
}

// Returns -log of the probability of `label`, for emissions [length, tags].
template <typename T>
SLUICE_API double CrfCost(const CrfWeights<T>& weights,
                          const T* emission,
                          const int64_t* label,
                          int64_t length,
                          double* scratch);

// Adds `scale` times the gradient of CrfCost to transition_grad [tags + 2,
// tags], and sets emission_grad [length, tags] to it unless that is nullptr.
template <typename T>
SLUICE_API void CrfGradient(const CrfWeights<T>& weights,
                            const T* emission,
                            const int64_t* label,
                            int64_t length,
                            double scale,
                            T* emission_grad,
                            double* transition_grad,
                            double* scratch);

// Writes the weights of pairs as CrfDecode reads them: [tags, stride], where
// stride is ViterbiStride(tags).
template <typename T>
SLUICE_API void CrfPairs(const CrfWeights<T>& weights, double* pairs);

// Finds the path with the highest score. Ties are resolved by the smallest last
// tag, then the smallest tag before it, and so on. `scores` has space for 2 *
// stride numbers, `back` for length * stride.
template <typename T>
SLUICE_API void CrfDecode(const CrfWeights<T>& weights,
                          const double* pairs,
                          const T* emission,
                          int64_t length,
                          int64_t* path,
                          double* scores,
                          int32_t* back);

}  // namespace sluice
