#pragma once

#include <cstdint>

#include "sluice/platform/export.h"

// Functions on host memory, through ParallelFor. The bits do not depend on the
// number of threads. T: float, double. If any value of a softmax is NaN or
// infinite, all results are NaN.
namespace sluice {

// A tensor [outer, size, inner]. The softmax is over `size`.
struct SoftmaxDims {
  int64_t outer = 1, size = 1, inner = 1;

  // The columns that one thread processes together.
  static constexpr int64_t kColumnBlock = 64;
};

// The first four functions below, for their shared loops.
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

// out = x - max - log(sum of exp(x - max)). This is the logarithm of the
// softmax, even if the softmax is too small for T. `out` may be `x`.
template <typename T>
SLUICE_API void LogSoftmax(const SoftmaxDims& dims, const T* x, T* out);

// x_grad = out_grad - exp(out) * sum of out_grad.
template <typename T>
SLUICE_API void LogSoftmaxGrad(const SoftmaxDims& dims,
                               const T* out,
                               const T* out_grad,
                               T* x_grad);

// The labels of [rows, size] logits: for each row an index in [0, size) or
// `ignored`; alternatively a weight for each logit.
template <typename T>
struct SoftmaxLabels {
  const int64_t* index = nullptr;
  int64_t ignored = -1;
  const T* weights = nullptr;  // instead of index
};

// Computes the softmax of each row, and loss[row] = - sum of label * log
// softmax, or 0 for an ignored label. 0 times the logarithm of 0 counts as 0.
template <typename T>
SLUICE_API void SoftmaxCrossEntropy(int64_t rows,
                                    int64_t size,
                                    const T* logits,
                                    const SoftmaxLabels<T>& labels,
                                    T* softmax,
                                    T* loss);

// Computes the gradient of the logits from those of the losses and of softmax.
// Either may be null, which means 0.
template <typename T>
SLUICE_API void SoftmaxCrossEntropyGrad(int64_t rows,
                                        int64_t size,
                                        const T* softmax,
                                        const SoftmaxLabels<T>& labels,
                                        const T* loss_grad,
                                        const T* softmax_grad,
                                        T* logits_grad);

}  // namespace sluice
