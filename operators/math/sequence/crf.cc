#include "sluice/operators/math/sequence/crf.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sluice/platform/dtype_sets.h"

namespace sluice {
namespace {

constexpr double kNone = -std::numeric_limits<double>::infinity();

// The emissions of one position, relative to their largest.
template <typename T>
class Emissions {
 public:
  Emissions(const T* emission, int64_t tags)
      : emission_(emission), largest_(LargestWeight(emission, tags)) {}
  double operator[](int64_t tag) const {
    return static_cast<double>(emission_[tag]) - largest_;
  }

 private:
  const T* emission_;
  double largest_;
};

// Subtracts the largest (0 if it is not finite) from all, and returns it.
double Center(double* x, int64_t count) {
  const double largest = LargestWeight(x, count);
  for (int64_t i = 0; i < count; ++i) {
    x[i] -= largest;
  }
  return largest;
}

double SumOfExponentials(const double* x, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    sum += std::exp(x[i]);
  }
  return sum;
}

// Computes the log weights of all paths that end in each tag: `to` plus the
// returned maximum. The maximum leaves out the logarithms of sums.
template <typename T>
double FirstAlpha(const CrfWeights<T>& weights, const T* emission, double* to) {
  const Emissions<T> emissions(emission, weights.tags());
  for (int64_t j = 0; j < weights.tags(); ++j) {
    to[j] = weights.start(j) + emissions[j];
  }
  return Center(to, weights.tags());
}

// Advances by one position: emission[j] + log(sum over i of exp(from[i] +
// pair[i, j])). `sums` has space for one number per tag.
template <typename T>
double NextAlpha(const CrfWeights<T>& weights,
                 const T* emission,
                 const double* from,
                 double* to,
                 double* sums) {
  const int64_t tags = weights.tags();
  const Emissions<T> emissions(emission, tags);
  std::fill(to, to + tags, kNone);
  std::fill(sums, sums + tags, 0.0);
  for (int64_t i = 0; i < tags; ++i) {
    for (int64_t j = 0; j < tags; ++j) {
      to[j] = std::max(to[j], from[i] + weights.pair(i, j));
    }
  }
  for (int64_t i = 0; i < tags; ++i) {
    for (int64_t j = 0; j < tags; ++j) {
      if (to[j] == kNone) continue;
      sums[j] += std::exp(from[i] + weights.pair(i, j) - to[j]);
    }
  }
  for (int64_t j = 0; j < tags; ++j) {
    to[j] += emissions[j];
  }
  // The logarithms are small and therefore added last.
  const double largest = Center(to, tags);
  for (int64_t j = 0; j < tags; ++j) {
    to[j] += std::log(sums[j]);
  }
  return largest;
}

// Computes beta[i] of the previous position, up to a constant, from gamma[j] =
// emission + beta of one position. Adds `factor` times P(i, j) to pair_grad;
// its logarithm is alpha[i] + pair[i, j] + gamma[j] - log_factor. `terms` and
// `sums` have space for one number per tag.
template <typename T>
void StepBack(const CrfWeights<T>& weights,
              const double* alpha,
              const double* gamma,
              double log_factor,
              double factor,
              double* beta,
              double* terms,
              double* sums,
              double* pair_grad) {
  const int64_t tags = weights.tags();
  for (int64_t i = 0; i < tags; ++i) {
    for (int64_t j = 0; j < tags; ++j) {
      terms[j] = weights.pair(i, j) + gamma[j];
    }
    beta[i] = *std::max_element(terms, terms + tags);
    sums[i] = 1;
    if (beta[i] == kNone) continue;
    const double weight = factor * std::exp(alpha[i] + (beta[i] - log_factor));
    double sum = 0;
    for (int64_t j = 0; j < tags; ++j) {
      const double term = std::exp(terms[j] - beta[i]);
      sum += term;
      pair_grad[i * tags + j] += weight * term;
    }
    sums[i] = sum;
  }
  Center(beta, tags);
  for (int64_t i = 0; i < tags; ++i) {
    beta[i] += std::log(sums[i]);
  }
}

}  // namespace

template <typename T>
double CrfCost(const CrfWeights<T>& weights,
               const T* emission,
               const int64_t* label,
               int64_t length,
               double* scratch) {
  if (length == 0) return 0;
  const int64_t tags = weights.tags();
  double* alpha = scratch;
  double* next = scratch + tags;
  double* sums = scratch + 2 * tags;
  // How much better the best path so far is than the labels. Only this is
  // stored: both scores may be large, and their difference would lose digits.
  double ahead =
      FirstAlpha(weights, emission, alpha) -
      (weights.start(label[0]) + Emissions<T>(emission, tags)[label[0]]);
  for (int64_t t = 1; t < length; ++t) {
    const T* own = emission + t * tags;
    ahead += NextAlpha(weights, own, alpha, next, sums) -
             (weights.pair(label[t - 1], label[t]) +
              Emissions<T>(own, tags)[label[t]]);
    std::swap(alpha, next);
  }
  for (int64_t j = 0; j < tags; ++j) {
    alpha[j] += weights.end(j);
  }
  ahead += Center(alpha, tags) - weights.end(label[length - 1]);
  return ahead + std::log(SumOfExponentials(alpha, tags));
}

template <typename T>
void CrfGradient(const CrfWeights<T>& weights,
                 const T* emission,
                 const int64_t* label,
                 int64_t length,
                 double scale,
                 T* emission_grad,
                 double* transition_grad,
                 double* scratch) {
  if (length == 0) return;
  const int64_t tags = weights.tags();
  double* alphas = scratch;
  double* beta = scratch + length * tags;
  double* gamma = beta + tags;
  double* terms = gamma + tags;
  double* sums = terms + tags;
  double* steps = sums + tags;  // subtracted by NextAlpha
  double* start_grad = transition_grad;
  double* end_grad = transition_grad + tags;
  double* pair_grad = transition_grad + 2 * tags;
  steps[0] = FirstAlpha(weights, emission, alphas);
  for (int64_t t = 1; t < length; ++t) {
    steps[t] = NextAlpha(weights, emission + t * tags, alphas + (t - 1) * tags,
                         alphas + t * tags, sums);
  }
  for (int64_t j = 0; j < tags; ++j) {
    beta[j] = weights.end(j);
  }
  for (int64_t t = length - 1; t >= 0; --t) {
    const double* alpha = alphas + t * tags;
    // Normalizes so that the probabilities at each position add up to 1.
    for (int64_t j = 0; j < tags; ++j) {
      terms[j] = alpha[j] + beta[j];
    }
    const double largest = Center(terms, tags);
    const double sum = SumOfExponentials(terms, tags);
    const Emissions<T> emissions(emission + t * tags, tags);
    for (int64_t j = 0; j < tags; ++j) {
      const double hit = j == label[t] ? 1.0 : 0.0;
      const double p = scale * (std::exp(terms[j]) / sum - hit);
      if (emission_grad != nullptr) {
        emission_grad[t * tags + j] = static_cast<T>(p);
      }
      if (t == 0) start_grad[j] += p;
      if (t == length - 1) end_grad[j] += p;
      gamma[j] = emissions[j] + beta[j];
    }
    if (t == 0) break;
    StepBack(weights, alpha - tags, gamma, steps[t] + largest, scale / sum,
             beta, terms, sums, pair_grad);
    pair_grad[label[t - 1] * tags + label[t]] -= scale;
  }
}

template <typename T>
void CrfPairs(const CrfWeights<T>& weights, double* pairs) {
  const int64_t tags = weights.tags();
  const int64_t stride = ViterbiStride(tags);
  for (int64_t i = 0; i < tags; ++i) {
    for (int64_t j = 0; j < stride; ++j) {
      pairs[i * stride + j] = j < tags ? weights.pair(i, j) : 0;
    }
  }
}

template <typename T>
void CrfDecode(const CrfWeights<T>& weights,
               const double* pairs,
               const T* emission,
               int64_t length,
               int64_t* path,
               double* scores,
               int32_t* back) {
  if (length == 0) return;
  const int64_t tags = weights.tags();
  const int64_t stride = ViterbiStride(tags);
  double* score = scores;
  double* next = scores + stride;
  FirstAlpha(weights, emission, score);
  for (int64_t t = 1; t < length; ++t) {
    ViterbiStep<T>({.tags = tags,
                    .scores = score,
                    .pairs = pairs,
                    .emission = emission + t * tags,
                    .next = next,
                    .from = back + t * stride});
    std::swap(score, next);
  }
  int64_t best = 0;
  for (int64_t j = 0; j < tags; ++j) {
    score[j] += weights.end(j);
    if (score[j] > score[best]) best = j;
  }
  for (int64_t t = length - 1; t >= 0; --t) {
    path[t] = best;
    if (t > 0) best = back[t * stride + best];
  }
}

SLUICE_INSTANTIATE_FLOATS(CrfCost);
SLUICE_INSTANTIATE_FLOATS(CrfGradient);
SLUICE_INSTANTIATE_FLOATS(CrfPairs);
SLUICE_INSTANTIATE_FLOATS(CrfDecode);

}  // namespace sluice
