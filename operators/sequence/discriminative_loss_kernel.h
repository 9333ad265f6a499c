#pragma once

#include <cstddef>
#include <limits>

#include "sluice/framework/op/op_kernel.h"
#include "sluice/operators/sequence/embedding_mask.h"

// Shared by the kernels of discriminative_loss and its gradient.
namespace sluice {

struct DiscriminativeLossParams {
  double delta_v, delta_d;
  double variance_weight, distance_weight, regularization_weight;
};

// Returns max(0, x). NaN stays NaN.
constexpr double DiscriminativeHinge(double x) {
  return x <= 0 ? 0 : x;
}

// Returns 1 / (C (C - 1)), or 0 if there are no pairs.
constexpr double DiscriminativePairShare(double masks) {
  return masks > 1 ? 1 / (masks * (masks - 1)) : 0;
}

inline DiscriminativeLossParams DiscriminativeLossParamsOf(
    const OpKernelConstruction& construction) {
  return {
      .delta_v = construction.Attr<double>("delta_v"),
      .delta_d = construction.Attr<double>("delta_d"),
      .variance_weight = construction.Attr<double>("variance_weight"),
      .distance_weight = construction.Attr<double>("distance_weight"),
      .regularization_weight =
          construction.Attr<double>("regularization_weight"),
  };
}

// Returns the bytes of scratch memory for both functions; more than any machine
// has if they do not fit into 64 bits, as for masks without columns.
inline size_t DiscriminativeLossScratch(const EmbeddingMaskSizes& sizes) {
  // Each mask has a mean and its gradient, a count and a term.
  size_t bytes = 2 * sizeof(double);
  bool overflow = false;
  for (const auto factor :
       {static_cast<size_t>(sizes.batch), static_cast<size_t>(sizes.masks),
        static_cast<size_t>(sizes.features) + 1}) {
    overflow |= __builtin_mul_overflow(bytes, factor, &bytes);
  }
  return overflow ? std::numeric_limits<size_t>::max() / 2 : bytes;
}

}  // namespace sluice
