#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "sluice/operators/math/softmax.h"
#include "sluice/operators/math/softmax_rows-inl.h"
#include "sluice/platform/cpu/simd_dispatch.h"
#include "sluice/platform/dtype_sets.h"
#include "sluice/platform/parallel_for.h"

HWY_BEFORE_NAMESPACE();
namespace sluice {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Returns the sum of the elements of a softmax that are at most 1/2.
template <typename T>
HWY_INLINE T SumOfRest(const T* softmax, int64_t size) {
  const Tag<T> d;
  V<T> sums = hn::Zero(d);
  for (int64_t i = 0; i < size; i += kLanes<T>) {
    const V<T> part = LoadPart(softmax + i, size - i, T{0});
    const auto above = hn::Gt(part, hn::Set(d, T{0.5}));
    sums = hn::Add(sums, hn::IfThenZeroElse(above, part));
  }
  return Sum<T>(sums);
}

template <typename T>
void RunCrossEntropy(int64_t begin,
                     int64_t end,
                     int64_t size,
                     const T* logits,
                     const SoftmaxLabels<T>& labels,
                     T* softmax,
                     T* loss) {
  const Tag<T> d;
  for (int64_t row = begin; row < end; ++row) {
    const T* x = logits + row * size;
    T max, sum;
    SoftmaxRow(x, size, softmax + row * size, &max, &sum);
    // -log(softmax) is log_sum - (x - max).
    const T rest =
        sum < kOneMaximum ? sum * SumOfRest(softmax + row * size, size) : T{0};
    const T log_sum = LogOfSum(sum, rest);
    if (labels.weights == nullptr) {
      const int64_t label = labels.index[row];
      loss[row] = label == labels.ignored ? T{0} : log_sum - (x[label] - max);
      continue;
    }
    const T* weights = labels.weights + row * size;
    V<T> sums = hn::Zero(d);
    const V<T> half = hn::Set(d, T{0.5});
    const V<T> half_max = hn::Set(d, max / 2);
    const V<T> half_log_sum = hn::Set(d, log_sum / 2);
    for (int64_t i = 0; i < size; i += kLanes<T>) {
      // The difference is halved, as x - max may overflow.
      const V<T> part =
          hn::MulSub(LoadPart(x + i, size - i, max), half, half_max);
      const V<T> weight = LoadPart(weights + i, size - i, T{0});
      // A class that is masked by -infinity adds nothing if its label is 0.
      const auto masked = hn::And(hn::Eq(weight, hn::Zero(d)),
                                  hn::Eq(part, hn::Set(d, kLowest<T>)));
      const V<T> term = hn::IfThenZeroElse(masked, hn::Sub(half_log_sum, part));
      sums = hn::MulAdd(hn::Add(weight, weight), term, sums);
    }
    loss[row] = Sum<T>(sums);
  }
}

// Adds a row's gradient: (softmax, minus 1 at the label) * grad.
template <typename T>
HWY_INLINE void AddHardGrad(
    const T* softmax, int64_t size, int64_t label, T grad, T* logits_grad) {
  const Tag<T> d;
  const T before = logits_grad[label];
  V<T> rest = hn::Zero(d);  // the sum of elements up to 1/2
  for (int64_t i = 0; i < size; i += kLanes<T>) {
    const int64_t left = size - i;
    const V<T> y = LoadPart(softmax + i, left, T{0});
    const auto above = hn::Gt(y, hn::Set(d, T{0.5}));
    rest = hn::Add(rest, hn::IfThenZeroElse(above, y));
    StorePart(
        hn::MulAdd(y, hn::Set(d, grad), LoadPart(logits_grad + i, left, T{0})),
        logits_grad + i, left);
  }
  const T own = softmax[label] > T{0.5} ? -Sum<T>(rest) : softmax[label] - 1;
  // Subtracting from the new value could be infinity - infinity, which is NaN.
  logits_grad[label] = before + own * grad;
}

// Adds (softmax * the sum of the weights - weights) * grad. For the element
// above 1/2, the part that cancels is omitted.
template <typename T>
HWY_INLINE void AddSoftGrad(
    const T* softmax, int64_t size, const T* weights, T grad, T* logits_grad) {
  const Tag<T> d;
  const V<T> half = hn::Set(d, T{0.5});
  V<T> all = hn::Zero(d), others = all, rest = all;
  for (int64_t i = 0; i < size; i += kLanes<T>) {
    const V<T> y = LoadPart(softmax + i, size - i, T{0});
    const V<T> weight = LoadPart(weights + i, size - i, T{0});
    const auto above = hn::Gt(y, half);
    all = hn::Add(all, weight);
    others = hn::Add(others, hn::IfThenZeroElse(above, weight));
    rest = hn::Add(rest, hn::IfThenZeroElse(above, y));
  }
  all = hn::SumOfLanes(d, all);
  others = hn::SumOfLanes(d, others);
  rest = hn::SumOfLanes(d, rest);
  for (int64_t i = 0; i < size; i += kLanes<T>) {
    const int64_t left = size - i;
    const V<T> y = LoadPart(softmax + i, left, T{0});
    const V<T> weight = LoadPart(weights + i, left, T{0});
    const auto above = hn::Gt(y, half);
    const V<T> change =
        hn::MulSub(y, hn::IfThenElse(above, others, all),
                   hn::IfThenElse(above, hn::Mul(weight, rest), weight));
    StorePart(hn::MulAdd(change, hn::Set(d, grad),
                         LoadPart(logits_grad + i, left, T{0})),
              logits_grad + i, left);
  }
}

template <typename T>
void RunCrossEntropyGrad(int64_t begin,
                         int64_t end,
                         int64_t size,
                         const T* softmax,
                         const SoftmaxLabels<T>& labels,
                         const T* loss_grad,
                         const T* softmax_grad,
                         T* logits_grad) {
  for (int64_t row = begin; row < end; ++row) {
    const T* y = softmax + row * size;
    T* to = logits_grad + row * size;
    if (softmax_grad != nullptr) {
      GradRow<GradTerms<T>>(y, softmax_grad + row * size, size, to);
    } else {
      for (int64_t i = 0; i < size; ++i) {
        to[i] = T{0};
      }
    }
    if (loss_grad == nullptr) continue;
    if (labels.weights == nullptr) {
      const int64_t label = labels.index[row];
      if (label == labels.ignored) continue;
      AddHardGrad(y, size, label, loss_grad[row], to);
    } else {
      AddSoftGrad(y, size, labels.weights + row * size, loss_grad[row], to);
    }
  }
}

SLUICE_SIMD_FLOATS(RunCrossEntropy);
SLUICE_SIMD_FLOATS(RunCrossEntropyGrad);

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice {
namespace {

SLUICE_EXPORT_FLOATS(RunCrossEntropy);
SLUICE_EXPORT_FLOATS(RunCrossEntropyGrad);

}  // namespace

template <typename T>
void SoftmaxCrossEntropy(int64_t rows,
                         int64_t size,
                         const T* logits,
                         const SoftmaxLabels<T>& labels,
                         T* softmax,
                         T* loss) {
  const auto run = RunCrossEntropyFor<T>();
  ParallelFor(rows, SoftmaxRowsAtOnce(size), [&](int64_t begin, int64_t end) {
    run(begin, end, size, logits, labels, softmax, loss);
  });
}

template <typename T>
void SoftmaxCrossEntropyGrad(int64_t rows,
                             int64_t size,
                             const T* softmax,
                             const SoftmaxLabels<T>& labels,
                             const T* loss_grad,
                             const T* softmax_grad,
                             T* logits_grad) {
  const auto run = RunCrossEntropyGradFor<T>();
  ParallelFor(rows, SoftmaxRowsAtOnce(size), [&](int64_t begin, int64_t end) {
    run(begin, end, size, softmax, labels, loss_grad, softmax_grad,
        logits_grad);
  });
}

SLUICE_INSTANTIATE_FLOATS(SoftmaxCrossEntropy);
SLUICE_INSTANTIATE_FLOATS(SoftmaxCrossEntropyGrad);

}  // namespace sluice
#endif  // HWY_ONCE
