#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

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

// The emissions of one position, relative to their largest.
template <typename T>
class CrfEmissions {
 public:
  CrfEmissions(const T* emission, int64_t tags)
      : emission_(emission), largest_(LargestWeight(emission, tags)) {}
  double operator[](int64_t tag) const {
    return static_cast<double>(emission_[tag]) - largest_;
  }

 private:
  const T* emission_;
  double largest_;
};

// Subtracts the largest (0 if it is not finite) from all, and returns it.
inline double CenterWeights(double* x, int64_t count) {
  const double largest = LargestWeight(x, count);
  for (int64_t i = 0; i < count; ++i) {
    x[i] -= largest;
  }
  return largest;
}

// Computes the log weights of all paths that end in each tag: `to` plus the
// returned maximum. The maximum leaves out the logarithms of sums.
template <typename T>
double FirstAlpha(const CrfWeights<T>& weights, const T* emission, double* to) {
  const CrfEmissions<T> emissions(emission, weights.tags());
  for (int64_t j = 0; j < weights.tags(); ++j) {
    to[j] = weights.start(j) + emissions[j];
  }
  return CenterWeights(to, weights.tags());
}

}  // namespace sluice
