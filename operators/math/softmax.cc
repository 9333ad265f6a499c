#include "sluice/operators/math/softmax.h"

#include <algorithm>

#include <math.h>

// Each row takes three passes: its maximum, the exponentials and their sum, the
// quotients. Vectors hold adjacent elements of the row or, if contiguous,
// adjacent columns.
//
// At most one element of a softmax is above 1/2. Near 1 it has no digits left
// for its logarithm or for 1 minus it: the others determine both.
//
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "sluice/operators/math/simd_math-inl.h"
#include "sluice/operators/math/simd_parts-inl.h"
#include "sluice/platform/cpu/simd_dispatch.h"
#include "sluice/platform/dtype_sets.h"
#include "sluice/platform/parallel_for.h"

HWY_BEFORE_NAMESPACE();
namespace sluice {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Columns are added up in parts of so many rows: one sum of a million terms
// would lose digits.
constexpr int64_t kRowsOfPart = 512;

// Sums of exponentials below this have a single maximum.
constexpr double kOneMaximum = 1.5;

// Returns the logarithm of `sum`; `rest` is `sum` without the maximum's 1.
HWY_INLINE float LogOfSum(float sum, float rest) {
  return sum < kOneMaximum ? ::log1pf(rest) : ::logf(sum);
}
HWY_INLINE double LogOfSum(double sum, double rest) {
  return sum < kOneMaximum ? ::log1p(rest) : ::log(sum);
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
  int64_t i = 0;
  if (size >= 4 * kLanes<T>) {  // each maximum waits for the one before
    V<T> more[3] = {maxima, maxima, maxima};
    for (; i + 4 * kLanes<T> <= size; i += 4 * kLanes<T>) {
      maxima = hn::Max(maxima, hn::LoadU(d, x + i));
      HWY_UNROLL(3)
      for (int k = 0; k < 3; ++k) {
        more[k] = hn::Max(more[k], hn::LoadU(d, x + i + (k + 1) * kLanes<T>));
      }
    }
    maxima = hn::Max(hn::Max(maxima, more[0]), hn::Max(more[1], more[2]));
  }
  for (; i < size; i += kLanes<T>) {
    maxima = hn::Max(maxima, LoadPart(x + i, size - i, kLowest<T>));
  }
  return hn::GetLane(hn::MaxOfLanes(d, maxima));
}

// Quotients by one number from 1 on. With fused multiply-adds, the product with
// the reciprocal is corrected by the remainder, which is cheaper than to
// divide.
template <typename T>
class Quotient {
 public:
  explicit HWY_INLINE Quotient(T by)
      : by_(hn::Set(Tag<T>(), by)), inverse_(hn::Set(Tag<T>(), 1 / by)) {}
  HWY_INLINE V<T> Of(V<T> x) const {
#if HWY_TARGET <= HWY_AVX2
    const V<T> quotient = hn::Mul(x, inverse_);
    return hn::MulAdd(hn::NegMulAdd(quotient, by_, x), inverse_, quotient);
#else
    return hn::Div(x, by_);
#endif
  }

 private:
  V<T> by_;
  V<T> inverse_;
};

// Computes the softmax of one row, its maximum and the sum of the exponentials.
template <typename T>
HWY_INLINE void SoftmaxRow(
    const T* x, int64_t size, T* out, T* maximum, T* exponentials) {
  const Tag<T> d;
  if (size <= kLanes<T>) {  // `out` is not written and read again
    const V<T> row = LoadPart(x, size, kLowest<T>);
    *maximum = hn::GetLane(hn::MaxOfLanes(d, row));
    const V<T> e = SimdExpOfNegative(d, hn::Sub(row, hn::Set(d, *maximum)));
    *exponentials = Sum<T>(e);
    return StorePart(hn::Div(e, hn::Set(d, *exponentials)), out, size);
  }
  *maximum = Maximum(x, size);
  const V<T> max = hn::Set(d, *maximum);
  V<T> sums = hn::Zero(d);
  int64_t i = 0;
  for (; i + 2 * kLanes<T> <= size; i += 2 * kLanes<T>) {
    const V<T> e0 = SimdExpOfNegative(d, hn::Sub(hn::LoadU(d, x + i), max));
    const V<T> e1 =
        SimdExpOfNegative(d, hn::Sub(hn::LoadU(d, x + i + kLanes<T>), max));
    sums = hn::Add(hn::Add(sums, e0), e1);
    hn::StoreU(e0, d, out + i);
    hn::StoreU(e1, d, out + i + kLanes<T>);
  }
  for (; i < size; i += kLanes<T>) {
    const V<T> e = SimdExpOfNegative(
        d, hn::Sub(LoadPart(x + i, size - i, kLowest<T>), max));
    // Lanes after the row are 0, or NaN if the whole row is.
    sums = hn::Add(sums, e);
    StorePart(e, out + i, size - i);
  }
  *exponentials = Sum<T>(sums);
  const Quotient<T> over(*exponentials);
  for (i = 0; i + kLanes<T> <= size; i += kLanes<T>) {
    hn::StoreU(over.Of(hn::LoadU(d, out + i)), d, out + i);
  }
  if (i == size) return;
  const int64_t left = size - i;
  StorePart(over.Of(LoadPart(out + i, left, T{0})), out + i, left);
}

// Computes the softmax of `count` adjacent columns, at most a vector.
template <typename T>
HWY_INLINE void SoftmaxColumns(
    const T* x, int64_t size, int64_t inner, int64_t count, T* out) {
  const Tag<T> d;
  V<T> max = hn::Set(d, kLowest<T>);
  for (int64_t i = 0; i < size; ++i) {
    max = hn::Max(max, LoadPart(x + i * inner, count, T{0}));
  }
  V<T> sum = hn::Zero(d);
  for (int64_t begin = 0; begin < size; begin += kRowsOfPart) {
    const int64_t end = HWY_MIN(size, begin + kRowsOfPart);
    V<T> part = hn::Zero(d);
    for (int64_t i = begin; i < end; ++i) {
      const V<T> e = SimdExpOfNegative(
          d, hn::Sub(LoadPart(x + i * inner, count, T{0}), max));
      part = hn::Add(part, e);
      StorePart(e, out + i * inner, count);
    }
    sum = hn::Add(sum, part);
  }
  for (int64_t i = 0; i < size; ++i) {
    T* to = out + i * inner;
    StorePart(hn::Div(LoadPart(to, count, T{0}), sum), to, count);
  }
}

// Computes the logarithm of the softmax of one row: x - maximum, minus the
// logarithm of the sum of the exponentials.
template <typename T>
HWY_INLINE void LogSoftmaxRow(const T* x, int64_t size, T* out) {
  const Tag<T> d;
  const V<T> max = hn::Set(d, Maximum(x, size));
  V<T> sums = hn::Zero(d), rests = sums;
  const auto add = [&](V<T> part) HWY_ATTR {
    const V<T> e = SimdExpOfNegative(d, hn::Sub(part, max));
    sums = hn::Add(sums, e);
    rests = hn::Add(rests, hn::IfThenZeroElse(hn::Eq(part, max), e));
  };
  int64_t i = 0;
  for (; i + 2 * kLanes<T> <= size; i += 2 * kLanes<T>) {
    add(hn::LoadU(d, x + i));
    add(hn::LoadU(d, x + i + kLanes<T>));
  }
  for (; i < size; i += kLanes<T>) {
    add(LoadPart(x + i, size - i, kLowest<T>));
  }
  const V<T> log_sum = hn::Set(d, LogOfSum(Sum<T>(sums), Sum<T>(rests)));
  for (i = 0; i + kLanes<T> <= size; i += kLanes<T>) {
    const V<T> part = hn::LoadU(d, x + i);
    hn::StoreU(hn::Sub(hn::Sub(part, max), log_sum), d, out + i);
  }
  if (i == size) return;
  const int64_t left = size - i;
  const V<T> part = LoadPart(x + i, left, T{0});
  StorePart(hn::Sub(hn::Sub(part, max), log_sum), out + i, left);
}

// Computes the logarithm of the softmax of `count` adjacent columns.
template <typename T>
HWY_INLINE void LogSoftmaxColumns(
    const T* x, int64_t size, int64_t inner, int64_t count, T* out) {
  const Tag<T> d;
  V<T> max = hn::Set(d, kLowest<T>);
  for (int64_t i = 0; i < size; ++i) {
    max = hn::Max(max, LoadPart(x + i * inner, count, T{0}));
  }
  V<T> sum = hn::Zero(d), rest = sum;
  for (int64_t begin = 0; begin < size; begin += kRowsOfPart) {
    const int64_t end = HWY_MIN(size, begin + kRowsOfPart);
    V<T> part = hn::Zero(d), part_rest = part;
    for (int64_t i = begin; i < end; ++i) {
      const V<T> row = LoadPart(x + i * inner, count, T{0});
      const V<T> e = SimdExpOfNegative(d, hn::Sub(row, max));
      part = hn::Add(part, e);
      part_rest = hn::Add(part_rest, hn::IfThenZeroElse(hn::Eq(row, max), e));
    }
    sum = hn::Add(sum, part);
    rest = hn::Add(rest, part_rest);
  }
  const auto one_maximum = hn::Lt(sum, hn::Set(d, T{kOneMaximum}));
  const V<T> log_sum =
      hn::IfThenElse(one_maximum, hn::Log1p(d, rest), SimdLog(d, sum));
  for (int64_t i = 0; i < size; ++i) {
    const V<T> part = LoadPart(x + i * inner, count, T{0});
    StorePart(hn::Sub(hn::Sub(part, max), log_sum), out + i * inner, count);
  }
}

// The sums for x_grad = (grad - sum of grad * out) * out. The grad of the
// element above 1/2 is subtracted from all grads.
template <typename T>
struct GradTerms {
  static constexpr T kPad = 0;  // out past the end of a row
  const Tag<T> d;
  V<T> base;      // grad of the element above 1/2, or 0
  V<T> products;  // grad * out of other elements
  V<T> rest;      // out of other elements

  HWY_INLINE GradTerms() : base(hn::Zero(d)), products(base), rest(base) {}
  HWY_INLINE auto IsAboveHalf(V<T> out) const {
    return hn::Gt(out, hn::Set(d, T{0.5}));
  }
  HWY_INLINE void Add(V<T> out, V<T> grad) {
    const auto above = IsAboveHalf(out);
    const V<T> other = hn::IfThenZeroElse(above, out);
    base = hn::Add(base, hn::IfThenElseZero(above, grad));
    products = hn::MulAdd(other, grad, products);
    rest = hn::Add(rest, other);
  }
  HWY_INLINE void AddPart(const GradTerms& part) {
    base = hn::Add(base, part.base);
    products = hn::Add(products, part.products);
    rest = hn::Add(rest, part.rest);
  }
  // Sets each lane to the sum of all lanes.
  HWY_INLINE void AddLanes() {
    base = hn::SumOfLanes(d, base);
    products = hn::SumOfLanes(d, products);
    rest = hn::SumOfLanes(d, rest);
  }
  HWY_INLINE V<T> Grad(V<T> out, V<T> grad) const {
    const V<T> apart =
        hn::IfThenZeroElse(IsAboveHalf(out), hn::Sub(grad, base));
    const V<T> sum = hn::NegMulAdd(base, rest, products);
    return hn::Mul(hn::Sub(apart, sum), out);
  }
};

// The sums for the logarithm's x_grad = grad - exp(out) * the sum of grad.
template <typename T>
struct LogGradTerms {
  static constexpr T kPad = kLowest<T>;  // out past the end of a row
  const Tag<T> d;
  V<T> sum;   // grad
  V<T> rest;  // grad where exp(out) is at most 1/2

  HWY_INLINE LogGradTerms() : sum(hn::Zero(d)), rest(sum) {}
  HWY_INLINE auto IsAboveHalf(V<T> out) const {
    constexpr double kLogOfHalf = -0.693147180559945309;
    return hn::Gt(out, hn::Set(d, static_cast<T>(kLogOfHalf)));
  }
  HWY_INLINE void Add(V<T> out, V<T> grad) {
    sum = hn::Add(sum, grad);
    rest = hn::Add(rest, hn::IfThenZeroElse(IsAboveHalf(out), grad));
  }
  HWY_INLINE void AddPart(const LogGradTerms& part) {
    sum = hn::Add(sum, part.sum);
    rest = hn::Add(rest, part.rest);
  }
  HWY_INLINE void AddLanes() {
    sum = hn::SumOfLanes(d, sum);
    rest = hn::SumOfLanes(d, rest);
  }
  HWY_INLINE V<T> Grad(V<T> out, V<T> grad) const {
    const V<T> softmax = SimdExp(d, out);
    const V<T> plain = hn::NegMulAdd(softmax, sum, grad);
    const auto above = IsAboveHalf(out);
    if (hn::AllFalse(d, above)) return plain;
    const V<T> own =
        hn::MulAdd(hn::Expm1(d, out), grad, hn::Mul(softmax, rest));
    return hn::IfThenElse(above, hn::Neg(own), plain);
  }
};

// Computes the gradient of one row. Terms is GradTerms or LogGradTerms.
template <typename Terms, typename T>
HWY_INLINE void GradRow(const T* out, const T* grad, int64_t size, T* x_grad) {
  Terms terms;
  for (int64_t i = 0; i < size; i += kLanes<T>) {
    const int64_t left = size - i;
    terms.Add(LoadPart(out + i, left, Terms::kPad),
              LoadPart(grad + i, left, T{0}));
  }
  terms.AddLanes();
  for (int64_t i = 0; i < size; i += kLanes<T>) {
    const int64_t left = size - i;
    StorePart(terms.Grad(LoadPart(out + i, left, Terms::kPad),
                         LoadPart(grad + i, left, T{0})),
              x_grad + i, left);
  }
}

// Computes the gradient of `count` adjacent columns.
template <typename Terms, typename T>
HWY_INLINE void GradColumns(const T* out,
                            const T* grad,
                            int64_t size,
                            int64_t inner,
                            int64_t count,
                            T* x_grad) {
  Terms terms;
  for (int64_t begin = 0; begin < size; begin += kRowsOfPart) {
    const int64_t end = HWY_MIN(size, begin + kRowsOfPart);
    Terms part;
    for (int64_t i = begin * inner; i < end * inner; i += inner) {
      part.Add(LoadPart(out + i, count, T{0}), LoadPart(grad + i, count, T{0}));
    }
    terms.AddPart(part);
  }
  for (int64_t i = 0; i < size * inner; i += inner) {
    StorePart(terms.Grad(LoadPart(out + i, count, T{0}),
                         LoadPart(grad + i, count, T{0})),
              x_grad + i, count);
  }
}

// Runs one row if `inner` is 1, otherwise `count` columns.
template <typename T>
HWY_INLINE void RunPart(SoftmaxStep step,
                        const T* x,
                        const T* grad,
                        int64_t size,
                        int64_t inner,
                        int64_t count,
                        T* out) {
  T unused[2];
  switch (step) {
    case SoftmaxStep::kSoftmax:
      return inner == 1 ? SoftmaxRow(x, size, out, unused, unused + 1)
                        : SoftmaxColumns(x, size, inner, count, out);
    case SoftmaxStep::kGrad:
      return inner == 1
                 ? GradRow<GradTerms<T>>(x, grad, size, out)
                 : GradColumns<GradTerms<T>>(x, grad, size, inner, count, out);
    case SoftmaxStep::kLogSoftmax:
      return inner == 1 ? LogSoftmaxRow(x, size, out)
                        : LogSoftmaxColumns(x, size, inner, count, out);
    case SoftmaxStep::kLogGrad:
      return inner == 1 ? GradRow<LogGradTerms<T>>(x, grad, size, out)
                        : GradColumns<LogGradTerms<T>>(x, grad, size, inner,
                                                       count, out);
  }
}

// Copies `columns` columns of `rows` rows to the rows of `to`.
template <typename T>
HWY_INLINE void Transposed(const T* from,
                           int64_t from_step,
                           int64_t rows,
                           int64_t columns,
                           T* to,
                           int64_t to_step) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      to[j * to_step + i] = from[i * from_step + j];
    }
  }
}

// Runs rows [begin, end) of at most a vector: as columns, a vector of rows at a
// time. A row's bits do not depend on its neighbours.
template <typename T>
void RunShortRows(SoftmaxStep step,
                  int64_t size,
                  const T* x,
                  const T* grad,
                  T* out,
                  int64_t begin,
                  int64_t end) {
  constexpr int64_t kRows = kLanes<T>;
  HWY_ALIGN T x_columns[kRows * kRows] = {};
  HWY_ALIGN T grad_columns[kRows * kRows] = {};
  HWY_ALIGN T out_columns[kRows * kRows];
  for (int64_t i = begin; i < end; i += kRows) {
    const int64_t rows = HWY_MIN(kRows, end - i);
    Transposed(x + i * size, size, rows, size, x_columns, kRows);
    if (grad != nullptr) {
      Transposed(grad + i * size, size, rows, size, grad_columns, kRows);
    }
    RunPart(step, x_columns, grad_columns, size, kRows, kRows, out_columns);
    Transposed(out_columns, kRows, size, rows, out + i * size, size);
  }
}

// Runs rows [begin, end) if the inner size is 1, otherwise blocks [begin, end)
// of columns. `grad` is null if there is no gradient.
template <typename T>
void RunSoftmax(SoftmaxStep step,
                const SoftmaxDims& dims,
                const T* x,
                const T* grad,
                T* out,
                int64_t begin,
                int64_t end) {
  if (dims.inner == 1 && dims.size <= kLanes<T> && kLanes < T >> 1) {
    return RunShortRows(step, dims.size, x, grad, out, begin, end);
  }
  constexpr int64_t kBlock = SoftmaxDims::kColumnBlock;
  const int64_t blocks = (dims.inner + kBlock - 1) / kBlock;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t at = i / blocks * dims.size * dims.inner;
    const int64_t first = at + i % blocks * kBlock;
    const int64_t last = HWY_MIN(first + kBlock, at + dims.inner);
    for (int64_t j = first; j < last; j += kLanes<T>) {
      const int64_t count = HWY_MIN(last - j, kLanes<T>);
      const T* grads = grad == nullptr ? nullptr : grad + j;
      RunPart(step, x + j, grads, dims.size, dims.inner, count, out + j);
    }
  }
}

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

SLUICE_SIMD_FLOATS(RunSoftmax);
SLUICE_SIMD_FLOATS(RunCrossEntropy);
SLUICE_SIMD_FLOATS(RunCrossEntropyGrad);

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice {
namespace {

SLUICE_EXPORT_FLOATS(RunSoftmax);
SLUICE_EXPORT_FLOATS(RunCrossEntropy);
SLUICE_EXPORT_FLOATS(RunCrossEntropyGrad);

// Below about 10 us of work, a second thread costs more than it saves.
int64_t RowsAtOnce(int64_t elements) {
  return 1 + 16'384 / (1 + elements);
}

}  // namespace

template <typename T>
void Softmax(SoftmaxStep step,
             const SoftmaxDims& dims,
             const T* x,
             const T* grad,
             T* out) {
  const auto run = RunSoftmaxFor<T>();
  constexpr int64_t kBlock = SoftmaxDims::kColumnBlock;
  const int64_t blocks = (dims.inner + kBlock - 1) / kBlock;
  ParallelFor(dims.outer * blocks,
              RowsAtOnce(dims.size * std::min(dims.inner, kBlock)),
              [&](int64_t begin, int64_t end) {
                run(step, dims, x, grad, out, begin, end);
              });
}

template <typename T>
void SoftmaxCrossEntropy(int64_t rows,
                         int64_t size,
                         const T* logits,
                         const SoftmaxLabels<T>& labels,
                         T* softmax,
                         T* loss) {
  const auto run = RunCrossEntropyFor<T>();
  ParallelFor(rows, RowsAtOnce(size), [&](int64_t begin, int64_t end) {
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
  ParallelFor(rows, RowsAtOnce(size), [&](int64_t begin, int64_t end) {
    run(begin, end, size, softmax, labels, loss_grad, softmax_grad,
        logits_grad);
  });
}

SLUICE_INSTANTIATE_FLOATS(Softmax);
SLUICE_INSTANTIATE_FLOATS(SoftmaxCrossEntropy);
SLUICE_INSTANTIATE_FLOATS(SoftmaxCrossEntropyGrad);

}  // namespace sluice
#endif  // HWY_ONCE
