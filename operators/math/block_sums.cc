#include "sluice/operators/math/block_sums.h"

#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "sluice/operators/math/simd_doubles-inl.h"
#include "sluice/platform/cpu/simd_dispatch.h"
#include "sluice/platform/dtype_sets.h"

HWY_BEFORE_NAMESPACE();
namespace sluice {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kPartials = 8;

// Sums whole groups of kPartials elements and returns the elements summed.
template <class D, typename T>
HWY_INLINE int64_t SumVectors(D d, const T* x, int64_t count, double* partial) {
  constexpr int64_t kLanes = hn::MaxLanes(d);
  int64_t i = 0;
  auto sum0 = hn::Zero(d);
  auto sum1 = sum0;
  auto sum2 = sum0;
  auto sum3 = sum0;
  for (; i + kPartials <= count; i += kPartials) {
    sum0 = hn::Add(sum0, LoadDoubles(d, x + i));
    if constexpr (kLanes < 8) {
      sum1 = hn::Add(sum1, LoadDoubles(d, x + i + kLanes));
    }
    if constexpr (kLanes < 4) {
      sum2 = hn::Add(sum2, LoadDoubles(d, x + i + 2 * kLanes));
      sum3 = hn::Add(sum3, LoadDoubles(d, x + i + 3 * kLanes));
    }
  }
  hn::Store(sum0, d, partial);
  if constexpr (kLanes < 8) hn::Store(sum1, d, partial + kLanes);
  if constexpr (kLanes < 4) {
    hn::Store(sum2, d, partial + 2 * kLanes);
    hn::Store(sum3, d, partial + 3 * kLanes);
  }
  return i;
}

template <typename T>
HWY_INLINE double SumBlock(const T* x, int64_t count) {
  const hn::CappedTag<double, kPartials> d;
  constexpr int64_t kLanes = hn::MaxLanes(d);
  HWY_ALIGN double partial[kPartials] = {};
  int64_t i = 0;
  if constexpr (kLanes > 1) {
    i = SumVectors(d, x, count, partial);
  } else {
    for (; i + kPartials <= count; i += kPartials) {
      for (int64_t j = 0; j < kPartials; ++j) {
        partial[j] += static_cast<double>(x[i + j]);
      }
    }
  }
  for (int64_t j = 0; i + j < count; ++j) {
    partial[j] += static_cast<double>(x[i + j]);
  }
  return ((partial[0] + partial[1]) + (partial[2] + partial[3])) +
         ((partial[4] + partial[5]) + (partial[6] + partial[7]));
}

template <typename T>
void Blocks(const T* x, int64_t count, double* sums) {
  for (; count > 0; count -= kSumBlock, x += kSumBlock) {
    *sums++ = SumBlock(x, count < kSumBlock ? count : kSumBlock);
  }
}

// Four independent partial sums for a vector of columns.
template <class D>
struct ColumnSums {
  HWY_INLINE explicit ColumnSums(D d)
      : sum0(hn::Zero(d)), sum1(sum0), sum2(sum0), sum3(sum0) {}

  template <typename T>
  HWY_INLINE void AddFour(D d, const T* x, int64_t step) {
    sum0 = hn::Add(sum0, LoadDoubles(d, x));
    sum1 = hn::Add(sum1, LoadDoubles(d, x + step));
    sum2 = hn::Add(sum2, LoadDoubles(d, x + 2 * step));
    sum3 = hn::Add(sum3, LoadDoubles(d, x + 3 * step));
  }
  // Adds the last rows, fewer than four.
  template <typename T>
  HWY_INLINE void AddRest(D d, const T* x, int64_t rows, int64_t step) {
    if (rows > 0) sum0 = hn::Add(sum0, LoadDoubles(d, x));
    if (rows > 1) sum1 = hn::Add(sum1, LoadDoubles(d, x + step));
    if (rows > 2) sum2 = hn::Add(sum2, LoadDoubles(d, x + 2 * step));
  }
  HWY_INLINE void AddTo(D d, double* to) const {
    const auto sum = hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3));
    hn::StoreU(hn::Add(hn::LoadU(d, to), sum), d, to);
  }

  hn::Vec<D> sum0, sum1, sum2, sum3;
};

// Two cache lines.
template <typename T>
constexpr int64_t kAhead = 128 / sizeof(T);

// Sums kVectors vectors of columns at a time, while enough columns remain.
template <int64_t kLanesWanted, int kVectors, typename T>
HWY_INLINE int64_t ColumnGroup(const T* x,
                               int64_t rows,
                               int64_t step,
                               int64_t j,
                               int64_t columns,
                               double* sums) {
  using D = hn::CappedTag<double, kLanesWanted>;
  const D d;
  constexpr int64_t kLanes = hn::MaxLanes(d);
  for (; j + kVectors * kLanes <= columns; j += kVectors * kLanes) {
    ColumnSums<D> first(d);
    ColumnSums<D> second(d);
    const T* from = x + j;
    int64_t i = 0;
    for (; i + 4 <= rows; i += 4, from += 4 * step) {
      first.AddFour(d, from, step);
      if constexpr (kVectors > 1) {
        second.AddFour(d, from + kLanes, step);
        // The CPU itself does not notice that the next columns follow.
        for (int64_t row = 0; row < 4; ++row) {
          hwy::Prefetch(from + row * step + kAhead<T>);
        }
      }
    }
    first.AddRest(d, from, rows - i, step);
    first.AddTo(d, sums + j);
    if constexpr (kVectors > 1) {
      second.AddRest(d, from + kLanes, rows - i, step);
      second.AddTo(d, sums + j + kLanes);
    }
  }
  return j;
}

template <typename T>
void Columns(
    const T* x, int64_t rows, int64_t step, int64_t columns, double* sums) {
  int64_t j = ColumnGroup<8, 2>(x, rows, step, 0, columns, sums);
  j = ColumnGroup<8, 1>(x, rows, step, j, columns, sums);
  j = ColumnGroup<4, 1>(x, rows, step, j, columns, sums);
  j = ColumnGroup<2, 1>(x, rows, step, j, columns, sums);
  ColumnGroup<1, 1>(x, rows, step, j, columns, sums);
}

// Adds kVectors vectors of columns at a time, while enough columns remain.
template <int64_t kLanesWanted, int kVectors>
HWY_INLINE int64_t CompensatedGroup(const double* x,
                                    int64_t rows,
                                    int64_t step,
                                    int64_t j,
                                    int64_t columns,
                                    double* sums) {
  const hn::CappedTag<double, kLanesWanted> d;
  constexpr int64_t kLanes = hn::MaxLanes(d);
  for (; j + kVectors * kLanes <= columns; j += kVectors * kLanes) {
    hn::Vec<decltype(d)> total[kVectors], lost[kVectors];
    double* const to = sums + 2 * j;
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      hn::LoadInterleaved2(d, to + int64_t{2} * v * kLanes, total[v], lost[v]);
    }
    const double* from = x + j;
    for (int64_t i = 0; i < rows; ++i, from += step) {
      HWY_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) {
        const auto value = hn::LoadU(d, from + v * kLanes);
        const auto sum = hn::Add(total[v], value);
        const auto added = hn::Sub(sum, total[v]);
        lost[v] =
            hn::Add(lost[v], hn::Add(hn::Sub(total[v], hn::Sub(sum, added)),
                                     hn::Sub(value, added)));
        total[v] = sum;
      }
    }
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      hn::StoreInterleaved2(total[v], lost[v], d, to + int64_t{2} * v * kLanes);
    }
  }
  return j;
}

void CompensatedColumns(const double* x,
                        int64_t rows,
                        int64_t step,
                        int64_t columns,
                        double* sums) {
  int64_t j = CompensatedGroup<8, 4>(x, rows, step, 0, columns, sums);
  j = CompensatedGroup<8, 1>(x, rows, step, j, columns, sums);
  j = CompensatedGroup<2, 1>(x, rows, step, j, columns, sums);
  CompensatedGroup<1, 1>(x, rows, step, j, columns, sums);
}

SLUICE_SIMD_FLOATS(Blocks);
SLUICE_SIMD_FLOATS(Columns);

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice {
namespace {

SLUICE_EXPORT_FLOATS(Blocks);
SLUICE_EXPORT_FLOATS(Columns);
HWY_EXPORT(CompensatedColumns);

}  // namespace

template <typename T>
void SumBlocks(const T* x, int64_t count, double* sums) {
  BlocksFor<T>()(x, count, sums);
}
template <typename T>
void AddToColumns(
    const T* x, int64_t rows, int64_t step, int64_t columns, double* sums) {
  ColumnsFor<T>()(x, rows, step, columns, sums);
}

void AddToCompensatedColumns(const double* x,
                             int64_t rows,
                             int64_t step,
                             int64_t columns,
                             double* sums) {
  HWY_DYNAMIC_DISPATCH(CompensatedColumns)(x, rows, step, columns, sums);
}

SLUICE_INSTANTIATE_FLOATS(SumBlocks);
SLUICE_INSTANTIATE_FLOATS(AddToColumns);

}  // namespace sluice
#endif  // HWY_ONCE
