#pragma once

#include <cstdint>

#include "sluice/platform/export.h"

// Functions on host memory, on ParallelFor, with the same bits for any number
// of threads. T: float, double. NaN among the values of a softmax makes all of
// them NaN, as does an infinity.
namespace sluice::operators::math {

// A tensor [outer, size, inner]; the softmax runs over `size`.
struct SoftmaxDims {
  int64_t outer = 1, size = 1, inner = 1;

  // Columns of an outer index that one thread takes at a time.
  static constexpr int64_t kColumnBlock = 64;
};

// What the loops of the first four functions below compute.
enum class SoftmaxStep : uint8_t { kSoftmax, kGrad, kLogSoftmax, kLogGrad };

// out = exp(x - max) / sum of exp(x - max).
template <typename T>
SLUICE_API void Softmax(const SoftmaxDims& dims, const T* x, T* out);

// x_grad = (out_grad - sum of out_grad * out) * out.
template <typename T>
SLUICE_API void SoftmaxGrad(const SoftmaxDims& dims,
                            const T* out,
                            const T* out_grad,
                            T* x_grad);

// out = x - max - log(sum of exp(x - max)): the logarithm of the softmax, also
// where that is too small for T. `out` may be `x`.
template <typename T>
SLUICE_API void LogSoftmax(const SoftmaxDims& dims, const T* x, T* out);

// x_grad = out_grad - exp(out) * sum of out_grad.
template <typename T>
SLUICE_API void LogSoftmaxGrad(const SoftmaxDims& dims,
                               const T* out,
                               const T* out_grad,
                               T* x_grad);

// The labels of [rows, size] logits: one index in [0, size) for each row, or
// `ignored`, or else a weight for each logit.
template <typename T>
struct SoftmaxLabels {
  const int64_t* index = nullptr;
  int64_t ignored = -1;
  const T* weights = nullptr;  // instead of index
};

// softmax of each row, and loss[row] = - sum of label * log softmax; 0 where
// the label is ignored. 0 times the logarithm of 0 is 0.
template <typename T>
SLUICE_API void SoftmaxCrossEntropy(int64_t rows,
                                    int64_t size,
                                    const T* logits,
                                    const SoftmaxLabels<T>& labels,
                                    T* softmax,
                                    T* loss);

// The gradient of the logits, from that of the losses and of softmax; either
// may be null, which stands for 0.
template <typename T>
SLUICE_API void SoftmaxCrossEntropyGrad(int64_t rows,
                                        int64_t size,
                                        const T* softmax,
                                        const SoftmaxLabels<T>& labels,
                                        const T* loss_grad,
                                        const T* softmax_grad,
                                        T* logits_grad);

}  // namespace sluice::operators::math
