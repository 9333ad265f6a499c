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

// What a pass over a tensor computes, of x or, with `grad` of the output, of
// that:
//   kSoftmax     exp(x - max) / sum of exp(x - max)
//   kGrad        (grad - sum of grad * x) * x, with x = softmax's output
//   kLogSoftmax  x - max - log(sum of exp(x - max)): the logarithm of the
//                softmax, even if the softmax is too small for T
//   kLogGrad     grad - exp(x) * sum of grad, with x = kLogSoftmax's output
enum class SoftmaxStep : uint8_t { kSoftmax, kGrad, kLogSoftmax, kLogGrad };

// `out` may be `x` for kLogSoftmax; `grad` is null for the forward steps.
template <typename T>
SLUICE_API void Softmax(SoftmaxStep step,
                        const SoftmaxDims& dims,
                        const T* x,
                        const T* grad,
                        T* out);

// Returns the grain size for ParallelFor over rows of `row_size` elements: with
// less than about 10 us of work, a second thread costs more than it saves.
constexpr int64_t SoftmaxRowsAtOnce(int64_t row_size) {
  return 1 + 16'384 / (1 + row_size);
}

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
