#pragma once

#include <cstddef>

#include "sluice/operators/math/sequence/embedding_mask.h"

// The discriminative loss of De Brabandere, Neven and Van Gool, "Semantic
// Instance Segmentation with a Discriminative Loss Function", 2017, over
// embeddings and run-length coded masks (embedding_mask.h), on the CPU. For the
// C masks of an image that have pixels, with means mu and pixel counts n:
//
//   variance       1 / C * the sum over masks c and their pixels x of
//                  max(0, |mu_c - x| - delta_v)^2 / n_c
//   distance       1 / (C (C - 1)) * the sum over ordered pairs a, b of
//                  max(0, 2 delta_d - |mu_a - mu_b|)^2
//   regularization 1 / C * the sum over masks c of |mu_c|
//
// The loss is their weighted sum, computed in double. Norms are Euclidean; the
// gradient of a norm of 0 is 0. NaN is kept.
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

// Returns the bytes of scratch memory for both functions; more than any machine
// has if they do not fit into 64 bits, as for masks without columns.
SLUICE_API size_t DiscriminativeLossScratch(const EmbeddingMaskSizes& sizes);

// Computes the loss of each image through ParallelFor. The bits do not depend
// on the number of threads.
template <typename T, typename S>
SLUICE_API void DiscriminativeLoss(const T* embedding,
                                   const S* mask,
                                   const EmbeddingMaskSizes& sizes,
                                   const DiscriminativeLossParams& params,
                                   double* scratch,
                                   T* loss);

template <typename T, typename S>
SLUICE_API void DiscriminativeLossGradient(
    const T* embedding,
    const S* mask,
    const EmbeddingMaskSizes& sizes,
    const DiscriminativeLossParams& params,
    const T* loss_grad,
    double* scratch,
    T* embedding_grad);

}  // namespace sluice
