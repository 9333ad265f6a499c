#include "sluice/operators/math/softmax.h"

#include <algorithm>

#include <math.h>

// Three passes over each row: its maximum, the exponentials and their sum, the
// quotients. Vectors hold neighbours in the row, or neighbouring columns where
// these lie side by side.
//
// HWY_TARGET_INCLUDE makes this file include itself once for every
// instruction set.
#define HWY_DISABLED_TARGETS SLUICE_DISABLED_TARGETS
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/operators/math/softmax.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "sluice/operators/math/simd_math-inl.h"
#include "sluice/operators/math/simd_parts-inl.h"
#include "sluice/platform/parallel_for.h"

HWY_BEFORE_NAMESPACE();
namespace sluice::operators::math {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE float Log(float x) {
  return ::logf(x);
}
HWY_INLINE double Log(double x) {
  return ::log(x);
}

template <typename T>
HWY_INLINE T Sum(V<T> v) {
  return hn::GetLane(hn::SumOfLanes(Tag<T>(), v));
}

template <typename T>
constexpr T kLowest = -__builtin_huge_val();

template <typename T>
HWY_INLINE T Maximum(const T* x, int64_t size) {
  const Tag<T> d;
  V<T> maxima = hn::Set(d, kLowest<T>);
  for (int64_t i = 0; i < size; i += kLanes<T>) {
    maxima = hn::Max(maxima, LoadPart(x + i, size - i, kLowest<T>));
  }
  return hn::GetLane(hn::MaxOfLanes(d, maxima));
}

// Softmax of one row; gives its maximum and the sum of the exponentials.
template <typename T>
HWY_INLINE void SoftmaxRow(
    const T* x, int64_t size, T* out, T* maximum, T* exponentials) {
  const Tag<T> d;
  *maximum = Maximum(x, size);
  const V<T> max = hn::Set(d, *maximum);
  V<T> sums = hn::Zero(d);
  for (int64_t i = 0; i < size; i += kLanes<T>) {
    const V<T> e =
        SimdExp(d, hn::Sub(LoadPart(x + i, size - i, kLowest<T>), max));
    // Behind the row they are 0, or NaN as the whole row is.
    sums = hn::Add(sums, e);
    StorePart(e, out + i, size - i);
  }
  *exponentials = Sum<T>(sums);
  const V<T> sum = hn::Set(d, *exponentials);
  for (int64_t i = 0; i < size; i += kLanes<T>) {
    const int64_t left = size - i;
    StorePart(hn::Div(LoadPart(out + i, left, T{0}), sum), out + i, left);
  }
}

// Softmax of `count` columns side by side, at most a vector.
template <typename T>
HWY_INLINE void SoftmaxColumns(
    const T* x, int64_t size, int64_t inner, int64_t count, T* out) {
  const Tag<T> d;
  V<T> max = hn::Set(d, kLowest<T>);
  for (int64_t i = 0; i < size; ++i) {
    max = hn::Max(max, LoadPart(x + i * inner, count, T{0}));
  }
  V<T> sum = hn::Zero(d);
  for (int64_t i = 0; i < size; ++i) {
    const V<T> e =
        SimdExp(d, hn::Sub(LoadPart(x + i * inner, count, T{0}), max));
    sum = hn::Add(sum, e);
    StorePart(e, out + i * inner, count);
  }
  for (int64_t i = 0; i < size; ++i) {
    T* to = out + i * inner;
    StorePart(hn::Div(LoadPart(to, count, T{0}), sum), to, count);
  }
}

// The logarithm of the softmax of one row: x - maximum, less the logarithm of
// the sum of the exponentials.
template <typename T>
HWY_INLINE void LogSoftmaxRow(const T* x, int64_t size, T* out) {
  const Tag<T> d;
  const V<T> max = hn::Set(d, Maximum(x, size));
  V<T> sums = hn::Zero(d);
  for (int64_t i = 0; i < size; i += kLanes<T>) {
    const V<T> part = LoadPart(x + i, size - i, kLowest<T>);
    sums = hn::Add(sums, SimdExp(d, hn::Sub(part, max)));
  }
  const V<T> log_sum = hn::Set(d, Log(Sum<T>(sums)));
  for (int64_t i = 0; i < size; i += kLanes<T>) {
    const int64_t left = size - i;
    const V<T> part = LoadPart(x + i, left, T{0});
    StorePart(hn::Sub(hn::Sub(part, max), log_sum), out + i, left);
  }
}

// The same of `count` columns.
template <typename T>
HWY_INLINE void LogSoftmaxColumns(
    const T* x, int64_t size, int64_t inner, int64_t count, T* out) {
  const Tag<T> d;
  V<T> max = hn::Set(d, kLowest<T>);
  for (int64_t i = 0; i < size; ++i) {
    max = hn::Max(max, LoadPart(x + i * inner, count, T{0}));
  }
  V<T> sum = hn::Zero(d);
  for (int64_t i = 0; i < size; ++i) {
    const V<T> part = LoadPart(x + i * inner, count, T{0});
    sum = hn::Add(sum, SimdExp(d, hn::Sub(part, max)));
  }
  const V<T> log_sum = SimdLog(d, sum);
  for (int64_t i = 0; i < size; ++i) {
    const V<T> part = LoadPart(x + i * inner, count, T{0});
    StorePart(hn::Sub(hn::Sub(part, max), log_sum), out + i * inner, count);
  }
}

template <typename T>
HWY_INLINE T Dot(const T* a, const T* b, int64_t size) {
  V<T> sums = hn::Zero(Tag<T>());
  for (int64_t i = 0; i < size; i += kLanes<T>) {
    sums = hn::MulAdd(LoadPart(a + i, size - i, T{0}),
                      LoadPart(b + i, size - i, T{0}), sums);
  }
  return Sum<T>(sums);
}

// x_grad = (grad - sum of grad * out) * out.
template <typename T>
HWY_INLINE void GradRow(const T* out, const T* grad, int64_t size, T* x_grad) {
  const V<T> sum = hn::Set(Tag<T>(), Dot(out, grad, size));
  for (int64_t i = 0; i < size; i += kLanes<T>) {
    const int64_t left = size - i;
    const V<T> rest = hn::Sub(LoadPart(grad + i, left, T{0}), sum);
    StorePart(hn::Mul(rest, LoadPart(out + i, left, T{0})), x_grad + i, left);
  }
}

template <typename T>
HWY_INLINE void GradColumns(const T* out,
                            const T* grad,
                            int64_t size,
                            int64_t inner,
                            int64_t count,
                            T* x_grad) {
  V<T> sum = hn::Zero(Tag<T>());
  for (int64_t i = 0; i < size * inner; i += inner) {
    sum = hn::MulAdd(LoadPart(out + i, count, T{0}),
                     LoadPart(grad + i, count, T{0}), sum);
  }
  for (int64_t i = 0; i < size * inner; i += inner) {
    const V<T> rest = hn::Sub(LoadPart(grad + i, count, T{0}), sum);
    StorePart(hn::Mul(rest, LoadPart(out + i, count, T{0})), x_grad + i, count);
  }
}

// x_grad = grad - exp(out) * the sum of grad.
template <typename T>
HWY_INLINE void LogGradRow(const T* out,
                           const T* grad,
                           int64_t size,
                           T* x_grad) {
  const Tag<T> d;
  V<T> sums = hn::Zero(d);
  for (int64_t i = 0; i < size; i += kLanes<T>) {
    sums = hn::Add(sums, LoadPart(grad + i, size - i, T{0}));
  }
  const V<T> sum = hn::Set(d, Sum<T>(sums));
  for (int64_t i = 0; i < size; i += kLanes<T>) {
    const int64_t left = size - i;
    const V<T> softmax = SimdExp(d, LoadPart(out + i, left, T{0}));
    StorePart(hn::NegMulAdd(softmax, sum, LoadPart(grad + i, left, T{0})),
              x_grad + i, left);
  }
}

template <typename T>
HWY_INLINE void LogGradColumns(const T* out,
                               const T* grad,
                               int64_t size,
                               int64_t inner,
                               int64_t count,
                               T* x_grad) {
  const Tag<T> d;
  V<T> sum = hn::Zero(d);
  for (int64_t i = 0; i < size * inner; i += inner) {
    sum = hn::Add(sum, LoadPart(grad + i, count, T{0}));
  }
  for (int64_t i = 0; i < size * inner; i += inner) {
    const V<T> softmax = SimdExp(d, LoadPart(out + i, count, T{0}));
    StorePart(hn::NegMulAdd(softmax, sum, LoadPart(grad + i, count, T{0})),
              x_grad + i, count);
  }
}

template <typename T>
HWY_INLINE void RunRow(
    SoftmaxStep step, const T* x, const T* grad, int64_t size, T* out) {
  T unused[2];
  switch (step) {
    case SoftmaxStep::kSoftmax:
      return SoftmaxRow(x, size, out, unused, unused + 1);
    case SoftmaxStep::kGrad:
      return GradRow(x, grad, size, out);
    case SoftmaxStep::kLogSoftmax:
      return LogSoftmaxRow(x, size, out);
    case SoftmaxStep::kLogGrad:
      return LogGradRow(x, grad, size, out);
  }
}

template <typename T>
HWY_INLINE void RunColumns(SoftmaxStep step,
                           const T* x,
                           const T* grad,
                           int64_t size,
                           int64_t inner,
                           int64_t count,
                           T* out) {
  switch (step) {
    case SoftmaxStep::kSoftmax:
      return SoftmaxColumns(x, size, inner, count, out);
    case SoftmaxStep::kGrad:
      return GradColumns(x, grad, size, inner, count, out);
    case SoftmaxStep::kLogSoftmax:
      return LogSoftmaxColumns(x, size, inner, count, out);
    case SoftmaxStep::kLogGrad:
      return LogGradColumns(x, grad, size, inner, count, out);
  }
}

// Rows [begin, end) with inner size 1; else blocks [begin, end) of columns.
// `grad` is null where there is no gradient.
template <typename T>
HWY_INLINE void RunSoftmax(SoftmaxStep step,
                           const SoftmaxDims& dims,
                           const T* x,
                           const T* grad,
                           T* out,
                           int64_t begin,
                           int64_t end) {
  constexpr int64_t kBlock = SoftmaxDims::kColumnBlock;
  const int64_t blocks = (dims.inner + kBlock - 1) / kBlock;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t at = i / blocks * dims.size * dims.inner;
    const int64_t first = at + i % blocks * kBlock;
    const int64_t last = HWY_MIN(first + kBlock, at + dims.inner);
    for (int64_t j = first; j < last; j += kLanes<T>) {
      const int64_t count = HWY_MIN(last - j, kLanes<T>);
      const T* grads = grad == nullptr ? nullptr : grad + j;
      if (dims.inner == 1) {
        RunRow(step, x + j, grads, dims.size, out + j);
      } else {
        RunColumns(step, x + j, grads, dims.size, dims.inner, count, out + j);
      }
    }
  }
}

template <typename T>
HWY_INLINE void RunCrossEntropy(int64_t begin,
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
    // Minus the logarithm of softmax is log_sum - (x - max).
    const T log_sum = Log(sum);
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
      // By halves, for x - max may overflow.
      const V<T> part =
          hn::MulSub(LoadPart(x + i, size - i, max), half, half_max);
      const V<T> weight = LoadPart(weights + i, size - i, T{0});
      // A class that is masked by -infinity has no share where its label is 0.
      const auto masked = hn::And(hn::Eq(weight, hn::Zero(d)),
                                  hn::Eq(part, hn::Set(d, kLowest<T>)));
      const V<T> term = hn::IfThenZeroElse(masked, hn::Sub(half_log_sum, part));
      sums = hn::MulAdd(hn::Add(weight, weight), term, sums);
    }
    loss[row] = Sum<T>(sums);
  }
}

template <typename T>
HWY_INLINE void RunCrossEntropyGrad(int64_t begin,
                                    int64_t end,
                                    int64_t size,
                                    const T* softmax,
                                    const SoftmaxLabels<T>& labels,
                                    const T* loss_grad,
                                    const T* softmax_grad,
                                    T* logits_grad) {
  const Tag<T> d;
  for (int64_t row = begin; row < end; ++row) {
    const T* y = softmax + row * size;
    T* to = logits_grad + row * size;
    if (softmax_grad != nullptr) {
      GradRow(y, softmax_grad + row * size, size, to);
    } else {
      for (int64_t i = 0; i < size; ++i) {
        to[i] = T{0};
      }
    }
    if (loss_grad == nullptr) continue;
    const bool hard = labels.weights == nullptr;
    if (hard && labels.index[row] == labels.ignored) continue;
    const T* weights = hard ? nullptr : labels.weights + row * size;
    T sum = 1;  // of the weights
    for (int64_t i = 0; !hard && i < size; ++i) {
      sum = (i == 0 ? T{0} : sum) + weights[i];
    }
    const V<T> grad = hn::Set(d, loss_grad[row]);
    const int64_t label = hard ? labels.index[row] : 0;
    const T before = to[label];
    for (int64_t i = 0; i < size; i += kLanes<T>) {
      const int64_t left = size - i;
      V<T> change = hn::Mul(LoadPart(y + i, left, T{0}), hn::Set(d, sum));
      if (!hard) change = hn::Sub(change, LoadPart(weights + i, left, T{0}));
      StorePart(hn::MulAdd(change, grad, LoadPart(to + i, left, T{0})), to + i,
                left);
    }
    // Not what stands there less the gradient: infinity less infinity is NaN.
    if (hard) to[label] = before + (y[label] - 1) * loss_grad[row];
  }
}

// NOLINTBEGIN(bugprone-macro-parentheses): T is a type.
#define SLUICE_SOFTMAX(T, Suffix)                                           \
  void RunSoftmax##Suffix(SoftmaxStep step, const SoftmaxDims& dims,        \
                          const T* x, const T* grad, T* out, int64_t begin, \
                          int64_t end) {                                    \
    RunSoftmax(step, dims, x, grad, out, begin, end);                       \
  }                                                                         \
  void RunCrossEntropy##Suffix(                                             \
      int64_t begin, int64_t end, int64_t size, const T* logits,            \
      const SoftmaxLabels<T>& labels, T* softmax, T* loss) {                \
    RunCrossEntropy(begin, end, size, logits, labels, softmax, loss);       \
  }                                                                         \
  void RunCrossEntropyGrad##Suffix(                                         \
      int64_t begin, int64_t end, int64_t size, const T* softmax,           \
      const SoftmaxLabels<T>& labels, const T* loss_grad,                   \
      const T* softmax_grad, T* logits_grad) {                              \
    RunCrossEntropyGrad(begin, end, size, softmax, labels, loss_grad,       \
                        softmax_grad, logits_grad);                         \
  }
SLUICE_SOFTMAX(float, F32)
SLUICE_SOFTMAX(double, F64)
#undef SLUICE_SOFTMAX
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace HWY_NAMESPACE
}  // namespace sluice::operators::math
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::operators::math {
namespace {

HWY_EXPORT(RunSoftmaxF32);
HWY_EXPORT(RunSoftmaxF64);
HWY_EXPORT(RunCrossEntropyF32);
HWY_EXPORT(RunCrossEntropyF64);
HWY_EXPORT(RunCrossEntropyGradF32);
HWY_EXPORT(RunCrossEntropyGradF64);

template <typename T, typename F32, typename F64>
auto Choose(F32 f32, F64 f64) {
  if constexpr (sizeof(T) == sizeof(float)) {
    return f32;
  } else {
    return f64;
  }
}

// Below some 10 us of work a second thread costs more than it saves.
int64_t RowsAtOnce(int64_t elements) {
  return 1 + 16'384 / (1 + elements);
}

template <typename T>
void Run(SoftmaxStep step,
         const SoftmaxDims& dims,
         const T* x,
         const T* grad,
         T* out) {
  const auto run = Choose<T>(HWY_DYNAMIC_DISPATCH(RunSoftmaxF32),
                             HWY_DYNAMIC_DISPATCH(RunSoftmaxF64));
  constexpr int64_t kBlock = SoftmaxDims::kColumnBlock;
  const int64_t blocks = (dims.inner + kBlock - 1) / kBlock;
  platform::ParallelFor(dims.outer * blocks,
                        RowsAtOnce(dims.size * std::min(dims.inner, kBlock)),
                        [&](int64_t begin, int64_t end) {
                          run(step, dims, x, grad, out, begin, end);
                        });
}

}  // namespace

template <typename T>
void Softmax(const SoftmaxDims& dims, const T* x, T* out) {
  Run<T>(SoftmaxStep::kSoftmax, dims, x, nullptr, out);
}

template <typename T>
void SoftmaxGrad(const SoftmaxDims& dims,
                 const T* out,
                 const T* out_grad,
                 T* x_grad) {
  Run<T>(SoftmaxStep::kGrad, dims, out, out_grad, x_grad);
}

template <typename T>
void LogSoftmax(const SoftmaxDims& dims, const T* x, T* out) {
  Run<T>(SoftmaxStep::kLogSoftmax, dims, x, nullptr, out);
}

template <typename T>
void LogSoftmaxGrad(const SoftmaxDims& dims,
                    const T* out,
                    const T* out_grad,
                    T* x_grad) {
  Run<T>(SoftmaxStep::kLogGrad, dims, out, out_grad, x_grad);
}

template <typename T>
void SoftmaxCrossEntropy(int64_t rows,
                         int64_t size,
                         const T* logits,
                         const SoftmaxLabels<T>& labels,
                         T* softmax,
                         T* loss) {
  const auto run = Choose<T>(HWY_DYNAMIC_DISPATCH(RunCrossEntropyF32),
                             HWY_DYNAMIC_DISPATCH(RunCrossEntropyF64));
  platform::ParallelFor(rows, RowsAtOnce(size),
                        [&](int64_t begin, int64_t end) {
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
  const auto run = Choose<T>(HWY_DYNAMIC_DISPATCH(RunCrossEntropyGradF32),
                             HWY_DYNAMIC_DISPATCH(RunCrossEntropyGradF64));
  platform::ParallelFor(rows, RowsAtOnce(size),
                        [&](int64_t begin, int64_t end) {
                          run(begin, end, size, softmax, labels, loss_grad,
                              softmax_grad, logits_grad);
                        });
}

// NOLINTBEGIN(bugprone-macro-parentheses): T is a type.
#define SLUICE_SOFTMAX(T)                                                      \
  template SLUICE_API void Softmax(const SoftmaxDims&, const T*, T*);          \
  template SLUICE_API void SoftmaxGrad(const SoftmaxDims&, const T*, const T*, \
                                       T*);                                    \
  template SLUICE_API void LogSoftmax(const SoftmaxDims&, const T*, T*);       \
  template SLUICE_API void LogSoftmaxGrad(const SoftmaxDims&, const T*,        \
                                          const T*, T*);                       \
  template SLUICE_API void SoftmaxCrossEntropy(                                \
      int64_t, int64_t, const T*, const SoftmaxLabels<T>&, T*, T*);            \
  template SLUICE_API void SoftmaxCrossEntropyGrad(int64_t, int64_t, const T*, \
                                                   const SoftmaxLabels<T>&,    \
                                                   const T*, const T*, T*)
SLUICE_SOFTMAX(float);
SLUICE_SOFTMAX(double);
#undef SLUICE_SOFTMAX
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace sluice::operators::math
#endif  // HWY_ONCE
