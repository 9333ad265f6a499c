#include "sluice/operators/math/sequence/crf.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sluice::operators::math {
namespace {

constexpr double kNone = -std::numeric_limits<double>::infinity();

// log(sum(exp(x))); -infinity for a sum of nothing.
double LogSumExp(const double* x, int64_t count) {
  double largest = kNone;
  for (int64_t i = 0; i < count; ++i) {
    largest = std::max(largest, x[i]);
  }
  if (largest == kNone) return kNone;
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    sum += std::exp(x[i] - largest);
  }
  return largest + std::log(sum);
}

template <typename T>
void FirstAlpha(const CrfWeights<T>& weights, const T* emission, double* to) {
  for (int64_t j = 0; j < weights.tags; ++j) {
    to[j] = static_cast<double>(weights.start()[j]) +
            static_cast<double>(emission[j]);
  }
}

// to[j] = emission[j] + log(sum over i of exp(from[i] + pair[i, j])): the
// paths that end in j. `largest` has room for as many.
template <typename T>
void NextAlpha(const CrfWeights<T>& weights,
               const T* emission,
               const double* from,
               double* to,
               double* largest) {
  const int64_t tags = weights.tags;
  std::fill(largest, largest + tags, kNone);
  std::fill(to, to + tags, 0.0);
  for (int64_t i = 0; i < tags; ++i) {
    const T* pair = weights.pair(i);
    for (int64_t j = 0; j < tags; ++j) {
      largest[j] = std::max(largest[j], from[i] + static_cast<double>(pair[j]));
    }
  }
  for (int64_t i = 0; i < tags; ++i) {
    const T* pair = weights.pair(i);
    for (int64_t j = 0; j < tags; ++j) {
      if (largest[j] == kNone) continue;
      to[j] += std::exp(from[i] + static_cast<double>(pair[j]) - largest[j]);
    }
  }
  for (int64_t j = 0; j < tags; ++j) {
    to[j] = static_cast<double>(emission[j]) + largest[j] + std::log(to[j]);
  }
}

// log(Z), of the last alphas; overwrites `scratch`.
template <typename T>
double LogZ(const CrfWeights<T>& weights, const double* last, double* scratch) {
  for (int64_t j = 0; j < weights.tags; ++j) {
    scratch[j] = last[j] + static_cast<double>(weights.end()[j]);
  }
  return LogSumExp(scratch, weights.tags);
}

template <typename T>
double PathScore(const CrfWeights<T>& weights,
                 const T* emission,
                 const int64_t* path,
                 int64_t length) {
  double score = static_cast<double>(weights.start()[path[0]]) +
                 static_cast<double>(emission[path[0]]);
  for (int64_t t = 1; t < length; ++t) {
    score += static_cast<double>(weights.pair(path[t - 1])[path[t]]) +
             static_cast<double>(emission[t * weights.tags + path[t]]);
  }
  return score + static_cast<double>(weights.end()[path[length - 1]]);
}

// From gamma[j] = emission + beta of one position to beta[i] of the position
// before it, and adds scale * P(i, j) to pair_grad.
template <typename T>
void StepBack(const CrfWeights<T>& weights,
              const double* alpha,
              const double* gamma,
              double log_z,
              double scale,
              double* beta,
              double* terms,
              double* pair_grad) {
  const int64_t tags = weights.tags;
  for (int64_t i = 0; i < tags; ++i) {
    const T* pair = weights.pair(i);
    double largest = kNone;
    for (int64_t j = 0; j < tags; ++j) {
      terms[j] = static_cast<double>(pair[j]) + gamma[j];
      largest = std::max(largest, terms[j]);
    }
    beta[i] = kNone;
    if (largest == kNone) continue;
    const double weight = scale * std::exp(alpha[i] + largest - log_z);
    double sum = 0;
    for (int64_t j = 0; j < tags; ++j) {
      const double term = std::exp(terms[j] - largest);
      sum += term;
      pair_grad[i * tags + j] += weight * term;
    }
    beta[i] = largest + std::log(sum);
  }
}

}  // namespace

template <typename T>
double CrfCost(const CrfWeights<T>& weights,
               const T* emission,
               const int64_t* label,
               int64_t length,
               double* scratch) {
  const int64_t tags = weights.tags;
  double* alpha = scratch;
  double* next = scratch + tags;
  double* largest = scratch + 2 * tags;
  FirstAlpha(weights, emission, alpha);
  for (int64_t t = 1; t < length; ++t) {
    NextAlpha(weights, emission + t * tags, alpha, next, largest);
    std::swap(alpha, next);
  }
  return LogZ(weights, alpha, largest) -
         PathScore(weights, emission, label, length);
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
  const int64_t tags = weights.tags;
  double* alphas = scratch;
  double* beta = scratch + length * tags;
  double* gamma = beta + tags;
  double* terms = gamma + tags;
  double* start_grad = transition_grad;
  double* end_grad = transition_grad + tags;
  double* pair_grad = transition_grad + 2 * tags;
  FirstAlpha(weights, emission, alphas);
  for (int64_t t = 1; t < length; ++t) {
    NextAlpha(weights, emission + t * tags, alphas + (t - 1) * tags,
              alphas + t * tags, terms);
  }
  const double log_z = LogZ(weights, alphas + (length - 1) * tags, terms);
  for (int64_t j = 0; j < tags; ++j) {
    beta[j] = static_cast<double>(weights.end()[j]);
  }
  for (int64_t t = length - 1; t >= 0; --t) {
    const double* alpha = alphas + t * tags;
    for (int64_t j = 0; j < tags; ++j) {
      const double hit = j == label[t] ? 1.0 : 0.0;
      const double p = scale * (std::exp(alpha[j] + beta[j] - log_z) - hit);
      if (emission_grad != nullptr) {
        emission_grad[t * tags + j] = static_cast<T>(p);
      }
      if (t == 0) start_grad[j] += p;
      if (t == length - 1) end_grad[j] += p;
      gamma[j] = static_cast<double>(emission[t * tags + j]) + beta[j];
    }
    if (t == 0) break;
    StepBack(weights, alpha - tags, gamma, log_z, scale, beta, terms,
             pair_grad);
    pair_grad[label[t - 1] * tags + label[t]] -= scale;
  }
}

template <typename T>
void CrfDecode(const CrfWeights<T>& weights,
               const T* emission,
               int64_t length,
               int64_t* path,
               double* scores,
               int32_t* back) {
  const int64_t tags = weights.tags;
  double* score = scores;
  double* next = scores + tags;
  FirstAlpha(weights, emission, score);
  for (int64_t t = 1; t < length; ++t) {
    int32_t* from = back + t * tags;
    for (int64_t j = 0; j < tags; ++j) {
      next[j] = score[0] + static_cast<double>(weights.pair(0)[j]);
      from[j] = 0;
    }
    for (int64_t i = 1; i < tags; ++i) {
      const T* pair = weights.pair(i);
      for (int64_t j = 0; j < tags; ++j) {
        const double sum = score[i] + static_cast<double>(pair[j]);
        if (sum > next[j]) {
          next[j] = sum;
          from[j] = static_cast<int32_t>(i);
        }
      }
    }
    for (int64_t j = 0; j < tags; ++j) {
      next[j] += static_cast<double>(emission[t * tags + j]);
    }
    std::swap(score, next);
  }
  int64_t best = 0;
  for (int64_t j = 0; j < tags; ++j) {
    score[j] += static_cast<double>(weights.end()[j]);
    if (score[j] > score[best]) best = j;
  }
  for (int64_t t = length - 1; t >= 0; --t) {
    path[t] = best;
    if (t > 0) best = back[t * tags + best];
  }
}

template SLUICE_API double CrfCost(
    const CrfWeights<float>&, const float*, const int64_t*, int64_t, double*);
template SLUICE_API double CrfCost(
    const CrfWeights<double>&, const double*, const int64_t*, int64_t, double*);
template SLUICE_API void CrfGradient(const CrfWeights<float>&,
                                     const float*,
                                     const int64_t*,
                                     int64_t,
                                     double,
                                     float*,
                                     double*,
                                     double*);
template SLUICE_API void CrfGradient(const CrfWeights<double>&,
                                     const double*,
                                     const int64_t*,
                                     int64_t,
                                     double,
                                     double*,
                                     double*,
                                     double*);
template SLUICE_API void CrfDecode(const CrfWeights<float>&,
                                   const float*,
                                   int64_t,
                                   int64_t*,
                                   double*,
                                   int32_t*);
template SLUICE_API void CrfDecode(const CrfWeights<double>&,
                                   const double*,
                                   int64_t,
                                   int64_t*,
                                   double*,
                                   int32_t*);

}  // namespace sluice::operators::math
