#pragma once

#include <cstdint>

#include "sluice/platform/export.h"

// One step of an optimiser over elements [begin, end), in one pass, on the
// calling thread, with the best instruction set that the CPU has; callers
// share ranges among threads. T is float or double. Outputs may be their own
// inputs, but not overlap them otherwise. Every element is rounded as by the
// plain C++ expression, whatever its range and the instruction set are.
namespace sluice::operators::math {

// param_out = param - rate * grad.
template <typename T>
struct SgdStep {
  const T* param;
  const T* grad;
  T* param_out;
  T rate;

  SLUICE_API void Run(int64_t begin, int64_t end) const;
};

// g = grad + decay * param; velocity_out = mu * velocity + g;
// param_out = param - rate * velocity_out, or, with Nesterov's momentum,
// param - rate * (g + mu * velocity_out).
template <typename T>
struct MomentumStep {
  const T* param;
  const T* grad;
  const T* velocity;
  T* param_out;
  T* velocity_out;
  T rate;
  T mu;
  T decay;
  bool nesterov;

  SLUICE_API void Run(int64_t begin, int64_t end) const;
};

// moment1_out = beta1 * moment1 + rest1 * grad, rest1 being 1 - beta1;
// moment2_out = beta2 * moment2 + rest2 * grad * grad;
// param_out = param - rate * moment1_out / (sqrt(moment2_out) + epsilon).
template <typename T>
struct AdamStep {
  const T* param;
  const T* grad;
  const T* moment1;
  const T* moment2;
  T* param_out;
  T* moment1_out;
  T* moment2_out;
  T rate;
  T beta1;
  T rest1;
  T beta2;
  T rest2;
  T epsilon;

  SLUICE_API void Run(int64_t begin, int64_t end) const;
};

}  // namespace sluice::operators::math
