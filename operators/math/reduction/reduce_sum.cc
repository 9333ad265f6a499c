#include "sluice/operators/math/reduction/reduce_sum.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "sluice/operators/math/block_sums.h"
#include "sluice/operators/math/half_conversions.h"
#include "sluice/platform/dtype_sets.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {

namespace {

// A longer row is summed in chunks of this size, so that threads can share it.
constexpr int64_t kChunk = 65536;
// The columns that are summed together: more of them where that leaves enough
// groups for threads, as rows of memory are then read in longer pieces.
constexpr int64_t kColumns = 64, kManyColumns = 512;
// With fewer groups of columns than this, threads share chunks of rows instead.
constexpr int64_t kFewGroups = 8;
constexpr int64_t kRowsAtOnce = 16;
constexpr int64_t kLanes = 8;

int64_t CeilDiv(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

template <typename Value>
struct PlainSum {
  Value total{};
  void Add(Value value) { total += value; }
  Value Result() const { return total; }
};

// Neumaier's variant of Kahan summation.
struct CompensatedSum {
  double total = 0;
  double lost = 0;
  void Add(double value) {
    const double sum = total + value;
    lost += std::abs(total) >= std::abs(value) ? (total - sum) + value
                                               : (value - sum) + total;
    total = sum;
  }
  // For an infinite sum, `lost` is NaN and ignored. It is too where an error
  // itself overflowed.
  double Result() const {
    return std::isfinite(total) && std::isfinite(lost) ? total + lost : total;
  }
};

// The types in which T is summed, and the conversions.
template <typename T>
struct Summand {
  static constexpr bool kInteger = std::is_integral_v<T>;
  using Value = std::conditional_t<kInteger, uint64_t, double>;
  using Sum = std::
      conditional_t<std::is_same_v<T, double>, CompensatedSum, PlainSum<Value>>;

  static Value Load(T value) { return static_cast<Value>(Widen(value)); }
  static T Store(Value value, double divisor) {
    if constexpr (!kInteger) value /= divisor;
    return Narrow<T>(static_cast<Computed<T>>(value));
  }
};

template <typename Value>
Value SumOfLanes(const Value (&lanes)[kLanes]) {
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
         ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

template <typename T>
void AddRow(const T* x, int64_t count, typename Summand<T>::Sum* sum) {
  using S = Summand<T>;
  if (count < kLanes) {  // the same bits with less work
    typename S::Value lanes[kLanes] = {};
    for (int64_t j = 0; j < count; ++j) {
      lanes[j] = S::Load(x[j]);
    }
    return sum->Add(SumOfLanes(lanes));
  }
  if constexpr (std::is_floating_point_v<T>) {
    constexpr int64_t kBlocks = 32;
    double blocks[kBlocks];
    while (count > 0) {
      const int64_t part = std::min(count, kBlocks * kSumBlock);
      SumBlocks(x, part, blocks);
      for (int64_t i = 0; i < CeilDiv(part, kSumBlock); ++i) {
        sum->Add(blocks[i]);
      }
      x += part;
      count -= part;
    }
    return;
  }
  while (count > 0) {
    const int64_t block = std::min(count, kSumBlock);
    typename S::Value lanes[kLanes] = {};
    int64_t i = 0;
    for (; i + kLanes <= block; i += kLanes) {
      for (int64_t j = 0; j < kLanes; ++j) {
        lanes[j] += S::Load(x[i + j]);
      }
    }
    for (int64_t j = 0; i + j < block; ++j) {
      lanes[j] += S::Load(x[i + j]);
    }
    sum->Add(SumOfLanes(lanes));
    x += block;
    count -= block;
  }
}

template <typename T>
T SumOfRows(const ReducePlan& plan, const T* x, int64_t rows) {
  typename Summand<T>::Sum sum;
  if (rows == 1) {
    AddRow(x, plan.axes.row_size, &sum);
    return Summand<T>::Store(sum.Result(), plan.divisor);
  }
  StridedWalk row(plan.axes.reduced, 0);
  for (int64_t i = 0; i < rows; ++i, row.Next()) {
    AddRow(x + row.offset(), plan.axes.row_size, &sum);
  }
  return Summand<T>::Store(sum.Result(), plan.divisor);
}

// Sums `count` adjacent rows of `size` elements, less than kLanes, with the
// bits of AddRow.
template <typename T, int kSize = 1>
void SumShortRows(
    const T* x, int64_t size, int64_t count, double divisor, T* out) {
  using S = Summand<T>;
  if (size > kSize) {
    if constexpr (kSize + 1 < kLanes) {
      SumShortRows<T, kSize + 1>(x, size, count, divisor, out);
    }
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    typename S::Value lanes[kLanes] = {};
    for (int j = 0; j < kSize; ++j) {
      lanes[j] = S::Load(x[i * kSize + j]);
    }
    out[i] = S::Store(SumOfLanes(lanes), divisor);
  }
}

template <typename T>
void SumRows(const ReducePlan& plan, const T* x, T* out) {
  const int64_t rows = plan.axes.reduced.count();
  const int64_t size = plan.axes.row_size;
  if (rows == 1 && size < kLanes && plan.axes.kept.rank == 1) {
    return ParallelFor(plan.axes.outputs, std::max<int64_t>(1, kGrain / size),
                       [&](int64_t begin, int64_t end) {
                         SumShortRows(x + begin * size, size, end - begin,
                                      plan.divisor, out + begin);
                       });
  }
  const int64_t grain =
      std::max<int64_t>(1, kGrain / (rows * plan.axes.row_size));
  ParallelFor(plan.axes.kept.count(), grain, [&](int64_t begin, int64_t end) {
    StridedWalk at(plan.axes.kept, begin);
    for (int64_t i = begin; i < end; ++i, at.Next()) {
      out[i] = SumOfRows(plan, x + at.offset(), rows);
    }
  });
}

// Sums chunks of each row, then adds these for each output.
template <typename T>
void SumLongRows(const ReducePlan& plan, const T* x, T* out, void* scratch) {
  using S = Summand<T>;
  const int64_t rows = plan.axes.reduced.count();
  const int64_t chunks = CeilDiv(plan.axes.row_size, kChunk);
  auto* partial = static_cast<typename S::Value*>(scratch);
  ParallelFor(plan.axes.kept.count() * rows * chunks, 1,
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                  const int64_t first = i % chunks * kChunk;
                  const int64_t row = i / chunks;
                  const int64_t offset =
                      StridedWalk(plan.axes.kept, row / rows).offset() +
                      StridedWalk(plan.axes.reduced, row % rows).offset() +
                      first;
                  typename S::Sum sum;
                  AddRow(x + offset,
                         std::min(kChunk, plan.axes.row_size - first), &sum);
                  partial[i] = sum.Result();
                }
              });
  for (int64_t i = 0; i < plan.axes.kept.count(); ++i) {
    typename S::Sum sum;
    for (int64_t j = 0; j < rows * chunks; ++j) {
      sum.Add(partial[i * rows * chunks + j]);
    }
    out[i] = S::Store(sum.Result(), plan.divisor);
  }
}

// Adds columns of rows with a stride of `step` elements to `sums`.
void AddColumns(const float* x,
                int64_t rows,
                int64_t step,
                int64_t columns,
                PlainSum<double>* sums) {
  static_assert(sizeof(*sums) == sizeof(double));
  // So few rows are read from end to end at once that the CPU sees it coming.
  const int64_t most = columns < kColumns ? rows : kRowsAtOnce;
  for (; rows > 0; rows -= most, x += most * step) {
    AddToColumns(x, std::min(rows, most), step, columns, &sums->total);
  }
}
void AddColumns(const double* x,
                int64_t rows,
                int64_t step,
                int64_t columns,
                CompensatedSum* sums) {
  static_assert(sizeof(*sums) == 2 * sizeof(double));
  AddToCompensatedColumns(x, rows, step, columns, &sums->total);
}
template <typename T>
void AddColumns(const T* x,
                int64_t rows,
                int64_t step,
                int64_t columns,
                typename Summand<T>::Sum* sums) {
  for (int64_t i = 0; i < rows; ++i, x += step) {
    for (int64_t j = 0; j < columns; ++j) {
      sums[j].Add(Summand<T>::Load(x[j]));
    }
  }
}

template <typename T>
void SumColumns(const ReducePlan& plan, const T* x, T* out) {
  using S = Summand<T>;
  const StridedAxes& reduced = plan.axes.reduced;
  const int64_t rows = reduced.count();
  const int64_t inner = reduced.rank > 0 ? reduced.sizes[reduced.rank - 1] : 1;
  const int64_t step = reduced.rank > 0 ? reduced.steps[reduced.rank - 1] : 0;
  const int64_t wide = CeilDiv(plan.axes.row_size, kManyColumns);
  const bool many = plan.axes.kept.count() * wide >= kFewGroups;
  const int64_t width = many ? kManyColumns : kColumns;
  const int64_t groups = CeilDiv(plan.axes.row_size, width);
  const int64_t cost = rows * std::min(width, plan.axes.row_size);
  const auto sum_group = [&](int64_t task) {
    const int64_t first = task % groups * width;
    const int64_t count = std::min(width, plan.axes.row_size - first);
    const int64_t kept = task / groups;
    const T* from = x + StridedWalk(plan.axes.kept, kept).offset() + first;
    T* to = out + kept * plan.axes.row_size + first;
    typename S::Sum sums[kManyColumns];
    std::fill(sums, sums + count, typename S::Sum());
    for (int64_t i = 0; i < rows; i += inner) {
      AddColumns(from + StridedWalk(reduced, i).offset(), inner, step, count,
                 sums);
    }
    for (int64_t j = 0; j < count; ++j) {
      to[j] = S::Store(sums[j].Result(), plan.divisor);
    }
  };
  ParallelFor(plan.axes.kept.count() * groups,
              std::max<int64_t>(1, kGrain / cost),
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                  sum_group(i);
                }
              });
}

// Sums `columns` columns; rows have a stride of `step` elements.
template <typename T>
void SumOfColumns(const T* x,
                  int64_t rows,
                  int64_t step,
                  int64_t columns,
                  typename Summand<T>::Value* out) {
  typename Summand<T>::Sum sums[kColumns];
  AddColumns(x, rows, step, columns, sums);
  for (int64_t j = 0; j < columns; ++j) {
    out[j] = sums[j].Result();
  }
}

// Computes like SumColumns, but sums chunks of rows first and then adds these.
template <typename T>
void SumSharedColumns(const ReducePlan& plan,
                      const T* x,
                      T* out,
                      void* scratch) {
  using S = Summand<T>;
  const RowChunks chunks(plan.axes.reduced.sizes[0]);
  const int64_t step = plan.axes.reduced.steps[0], size = plan.axes.row_size;
  const int64_t groups = CeilDiv(size, kColumns);
  auto* partial = static_cast<typename S::Value*>(scratch);
  ParallelFor(
      plan.axes.kept.count() * chunks.count * groups, 1,
      [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t first = i % groups * kColumns;
          const int64_t task = i / groups, chunk = task % chunks.count;
          const T* from =
              x + StridedWalk(plan.axes.kept, task / chunks.count).offset() +
              chunks.First(chunk) * step + first;
          SumOfColumns(from, chunks.Rows(chunk), step,
                       std::min(kColumns, size - first),
                       partial + task * size + first);
        }
      });
  for (int64_t i = 0; i < plan.axes.kept.count(); ++i) {
    for (int64_t j = 0; j < size; ++j) {
      typename S::Sum sum;
      for (int64_t chunk = 0; chunk < chunks.count; ++chunk) {
        sum.Add(partial[(i * chunks.count + chunk) * size + j]);
      }
      out[i * size + j] = S::Store(sum.Result(), plan.divisor);
    }
  }
}

}  // namespace

ReducePlan PlanReduce(const DDim& x,
                      const std::array<bool, DDim::kMaxRank>& summed) {
  ReducePlan plan;
  plan.axes = SortAxes(x, summed);
  const ReduceAxes& axes = plan.axes;
  if (axes.terms == 0) return plan;
  const int64_t groups = axes.kept.count() * CeilDiv(axes.row_size, kColumns);
  if (!axes.row_reduced && axes.reduced.rank == 1 && groups < kFewGroups) {
    const RowChunks chunks(axes.reduced.sizes[0]);
    plan.share_rows = chunks.count > 1;
    const int64_t sums = axes.kept.count() * chunks.count * axes.row_size;
    if (plan.share_rows) {
      plan.scratch_bytes = static_cast<size_t>(sums) * sizeof(double);
    }
  }
  if (axes.row_reduced && axes.row_size > kChunk) {
    plan.scratch_bytes =
        static_cast<size_t>(axes.kept.count() * axes.reduced.count() *
                            CeilDiv(axes.row_size, kChunk)) *
        sizeof(double);
  }
  return plan;
}

template <typename T>
void ReduceSum(const ReducePlan& plan, const T* x, T* out, void* scratch) {
  if (plan.axes.terms == 0) {
    const T nothing = Summand<T>::Store(0, plan.divisor);
    std::fill(out, out + plan.axes.outputs, nothing);
  } else if (plan.share_rows) {
    SumSharedColumns(plan, x, out, scratch);
  } else if (!plan.axes.row_reduced) {
    SumColumns(plan, x, out);
  } else if (plan.axes.row_size > kChunk) {
    SumLongRows(plan, x, out, scratch);
  } else {
    SumRows(plan, x, out);
  }
}

SLUICE_INSTANTIATE_FLOATS_AND_HALVES(ReduceSum);
SLUICE_INSTANTIATE(ReduceSum, int32_t);
SLUICE_INSTANTIATE(ReduceSum, int64_t);

}  // namespace sluice
