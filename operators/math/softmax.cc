#include "sluice/operators/math/softmax.h"

#include <algorithm>

// A row is computed as softmax_rows-inl.h does, columns in vectors of adjacent
// ones, if these are contiguous.
//
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "sluice/operators/math/movement/transpose_tile.h"
#include "sluice/operators/math/softmax_rows-inl.h"
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
  constexpr int64_t kSize = sizeof(T);
  TransposeTile(reinterpret_cast<const char*>(from), from_step * kSize,
                reinterpret_cast<char*>(to), to_step * kSize, columns, rows,
                kSize);
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

SLUICE_SIMD_FLOATS(RunSoftmax);

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice {
namespace {

SLUICE_EXPORT_FLOATS(RunSoftmax);

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
              SoftmaxRowsAtOnce(dims.size * std::min(dims.inner, kBlock)),
              [&](int64_t begin, int64_t end) {
                run(step, dims, x, grad, out, begin, end);
              });
}

SLUICE_INSTANTIATE_FLOATS(Softmax);

}  // namespace sluice
#endif  // HWY_ONCE
