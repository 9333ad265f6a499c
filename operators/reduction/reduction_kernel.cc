#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <type_traits>

#include "sluice/operators/math/half_conversions.h"
#include "sluice/operators/math/plain_formulas.h"
#include "sluice/operators/math/reduction/extremes.h"
#include "sluice/operators/math/reduction/folds.h"
#include "sluice/operators/math/reduction/reduce_axes.h"
#include "sluice/operators/reduction/reduced_dims.h"
#include "sluice/operators/reduction/reduction_row.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

// How the work is split: by the shape only, so that results have the same bits
// for any number of threads. If rows are reduced, a group is one output, and
// its terms are elements. If rows are kept, a group is up to kColumns adjacent
// outputs, or kManyColumns where that leaves enough groups for threads, and its
// terms are rows. If there are few groups, their terms are split into chunks.
struct FoldPlan {
  static constexpr int64_t kColumns = 64, kManyColumns = 512;
  static constexpr int64_t kGrain = 32768;  // elements
  static constexpr int64_t kFewGroups = 8;
  static constexpr int64_t kChunk = 2 * kGrain;  // elements

  FoldPlan() = default;
  FoldPlan(const DDim& x, const std::array<bool, DDim::kMaxRank>& reduced)
      : axes(SortAxes(x, reduced)) {
    if (axes.terms == 0) return;
    if (!axes.row_reduced) {
      const int64_t many = (axes.row_size + kManyColumns - 1) / kManyColumns;
      const bool wide = axes.kept.count() * many >= kFewGroups;
      columns = std::min(wide ? kManyColumns : kColumns, axes.row_size);
      column_groups = (axes.row_size + columns - 1) / columns;
    }
    groups = axes.kept.count() * column_groups;
    if (groups < kFewGroups) {
      chunks = std::max<int64_t>(1, axes.terms * columns / kChunk);
    }
  }

  int64_t ChunkBegin(int64_t chunk) const {
    return axes.terms / chunks * chunk + std::min(chunk, axes.terms % chunks);
  }

  ReduceAxes axes;
  int64_t columns = 1;        // maximum per group
  int64_t column_groups = 1;  // groups across a row
  int64_t groups = 0;
  int64_t chunks = 1;
};

// The columns of one group and their offsets.
struct FoldGroup {
  FoldGroup(const FoldPlan& plan, int64_t group) {
    const ReduceAxes& axes = plan.axes;
    const int64_t kept = group / plan.column_groups;
    const int64_t column = group % plan.column_groups * plan.columns;
    columns =
        axes.row_reduced ? 1 : std::min(plan.columns, axes.row_size - column);
    x = StridedWalk(axes.kept, kept).offset() + column;
    out = axes.row_reduced ? kept : kept * axes.row_size + column;
  }
  int64_t columns = 1;
  int64_t x = 0;    // the offset of the first column's first term
  int64_t out = 0;  // the first output
};

// Calls row(offset, count) for the terms [begin, end) of a group, in order. If
// rows are reduced, these are `count` adjacent terms of one output; otherwise
// one term of each column. Offsets are relative to FoldGroup::x.
template <typename Row>
void ForTerms(const ReduceAxes& axes,
              int64_t begin,
              int64_t end,
              const Row& row) {
  const int64_t length = axes.row_reduced ? axes.row_size : 1;
  StridedWalk walk(axes.reduced, begin / length);
  int64_t first = begin % length;
  for (int64_t i = begin; i < end; walk.Next(), first = 0) {
    const int64_t count = std::min(length - first, end - i);
    row(walk.offset() + first, count);
    i += count;
  }
}

#include "sluice/operators/reduction/reduction_rows.inc"

// Whether a fold of T, a float, is that of a row.
template <class Row, typename Fold, typename T>
constexpr bool IsFloatFoldOf() {
  if constexpr (std::is_floating_point_v<T>) {
    return std::is_same_v<Fold, typename Row::template Fold<T>>;
  }
  return false;
}

// Adds adjacent elements to a product, in vectors; returns how many.
template <typename Fold>
int64_t MultiplyNeighbours(const float* x, int64_t count, Fold* fold) {
  int64_t i = 0;
  while (i + 32 <= count) {
    double lanes[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    i += MultiplyLanes(x + i, count - i, lanes);
    for (const double lane : lanes) {
      fold->product.Multiply(lane);
    }
  }
  return i;
}

// Adds `count` adjacent elements. Elements i, i + 8, ... of a block are reduced
// separately, which allows parallel execution.
template <typename Fold, typename T>
void AddNeighbours(const T* x, int64_t count, Fold* fold) {
  constexpr int64_t kLanes = 8, kBlock = 1024;
  if (count < kLanes) {  // the same bits with less work
    for (int64_t i = 0; i < count; ++i) {
      fold->Add(Widen(x[i]));
    }
    return;
  }
  if constexpr (IsFloatFoldOf<ReduceMaxRow, Fold, T>()) {
    return fold->Add(LargestOf(x, count));
  } else if constexpr (IsFloatFoldOf<ReduceMinRow, Fold, T>()) {
    return fold->Add(SmallestOf(x, count));
  } else if constexpr (IsFloatFoldOf<ReduceProdRow, Fold, T>() &&
                       sizeof(T) == 4) {
    const int64_t done = MultiplyNeighbours(x, count, fold);
    x += done;
    count -= done;
  }
  while (count > 0) {
    const int64_t block = std::min(count, kBlock);
    if constexpr (IsFloatFoldOf<ReduceLogSumExpRow, Fold, T>()) {
      const T most = LargestOf(x, block);
      fold->Add(most, SumOfExpLess1(x, block, most));
      x += block;
      count -= block;
      continue;
    }
    Fold lanes[kLanes];
    int64_t i = 0;
    for (; i + kLanes <= block; i += kLanes) {
      for (int64_t j = 0; j < kLanes; ++j) {
        lanes[j].Add(Widen(x[i + j]));
      }
    }
    for (int64_t j = 0; i + j < block; ++j) {
      lanes[j].Add(Widen(x[i + j]));
    }
    for (const Fold& lane : lanes) {
      fold->Merge(lane);
    }
    x += block;
    count -= block;
  }
}

// Adds a term of each row to each column, in the order of the rows.
template <typename Fold, typename T>
void AddRow(const T* row, int64_t columns, Fold* __restrict folds) {
  for (int64_t j = 0; j < columns; ++j) {
    Fold fold = folds[j];
    fold.Add(Widen(row[j]));
    folds[j] = fold;
  }
}
template <typename Fold, typename T>
void AddFourRows(const T* const (&rows)[4],
                 int64_t columns,
                 Fold* __restrict folds) {
  if constexpr (IsFloatFoldOf<ReduceProdRow, Fold, T>() && sizeof(T) == 4) {
    static_assert(sizeof(Fold) == 2 * sizeof(double));
    if (MultiplyFourRows(rows, columns, &folds->product.fraction)) return;
    for (int64_t j = 0; j < columns; ++j) {
      folds[j].product.Multiply(1.0F);  // back into the range
    }
    return;
  }
  constexpr bool kLargest = IsFloatFoldOf<ReduceMaxRow, Fold, T>();
  if constexpr (kLargest || IsFloatFoldOf<ReduceMinRow, Fold, T>()) {
    static_assert(sizeof(Fold) == sizeof(T));
    return TakeFourRows(kLargest, rows, columns, reinterpret_cast<T*>(folds));
  }
  const T *first = rows[0], *second = rows[1], *third = rows[2];
  const T* const fourth = rows[3];
  for (int64_t j = 0; j < columns; ++j) {
    Fold fold = folds[j];
    fold.Add(Widen(first[j]));
    fold.Add(Widen(second[j]));
    fold.Add(Widen(third[j]));
    fold.Add(Widen(fourth[j]));
    folds[j] = fold;
  }
}

// Adds up to kExpRows rows to sums of exponentials.
template <typename Fold, typename T>
void AddExpsOf(const T* const* rows,
               int64_t count,
               int64_t columns,
               Fold* folds) {
  T most[FoldPlan::kManyColumns];
  double rest[FoldPlan::kManyColumns];
  for (int64_t j = 0; j < columns; ++j) {
    most[j] = folds[j].most;
    rest[j] = folds[j].rest;
  }
  AddExpRows(rows, count, columns, most, rest);
  for (int64_t j = 0; j < columns; ++j) {
    folds[j] = {most[j], rest[j]};
  }
}

// Adds the terms [begin, end) of each of a group's columns.
template <typename Fold, typename T>
void AddColumns(const ReduceAxes& axes,
                int64_t begin,
                int64_t end,
                const T* x,
                int64_t columns,
                Fold* folds) {
  constexpr bool kExps = IsFloatFoldOf<ReduceLogSumExpRow, Fold, T>();
  // As many rows are read at once: accumulators stay in registers meanwhile.
  constexpr int64_t kRows = kExps ? kExpRows : 4;
  const T* rows[kRows];
  int waiting = 0;
  ForTerms(axes, begin, end, [&](int64_t offset, int64_t) {
    rows[waiting++] = x + offset;
    if (waiting < kRows) return;
    if constexpr (kExps) {
      AddExpsOf(rows, kRows, columns, folds);
    } else {
      AddFourRows(rows, columns, folds);
    }
    waiting = 0;
  });
  if constexpr (kExps) {
    return AddExpsOf(rows, waiting, columns, folds);
  }
  // No loop: compilers would merge it with that of AddRow, not vectorized.
  if (waiting > 0) AddRow(rows[0], columns, folds);
  if (waiting > 1) AddRow(rows[1], columns, folds);
  if (waiting > 2) AddRow(rows[2], columns, folds);
}

// Adds the rows [begin, end) of one block of memory, of few columns, as rows of
// several times as many.
template <typename Fold, typename T>
void AddNarrowColumns(const ReduceAxes& axes,
                      int64_t begin,
                      int64_t end,
                      const T* x,
                      Fold* folds) {
  const int64_t columns = axes.row_size;
  const int64_t together = FoldPlan::kColumns / columns;
  const int64_t wide = (end - begin) / together;
  ReduceAxes joined = axes;
  joined.row_size = columns * together;
  joined.reduced.sizes[0] = std::max<int64_t>(wide, 1);
  joined.reduced.steps[0] = joined.row_size;
  Fold parts[FoldPlan::kColumns];
  AddColumns(joined, 0, wide, x + begin * columns, joined.row_size, parts);
  for (int64_t i = 0; i < joined.row_size; ++i) {
    folds[i % columns].Merge(parts[i]);
  }
  AddColumns(axes, begin + wide * together, end, x, columns, folds);
}

template <typename Fold>
size_t FoldScratchBytes(const FoldPlan& plan) {
  if (plan.chunks == 1) return 0;
  return static_cast<size_t>(plan.groups * plan.chunks * plan.columns) *
         sizeof(Fold);
}

// Computes each output from one row, with little overhead for short ones.
template <typename Fold, typename T>
void FoldRows(const ReduceAxes& axes, const T* x, T* out) {
  ParallelFor(axes.outputs,
              std::max<int64_t>(1, FoldPlan::kGrain / axes.row_size),
              [&](int64_t begin, int64_t end) {
                StridedWalk row(axes.kept, begin);
                for (int64_t i = begin; i < end; ++i, row.Next()) {
                  Fold fold;
                  AddNeighbours(x + row.offset(), axes.row_size, &fold);
                  out[i] = Narrow<T>(fold.Result());
                }
              });
}

// Computes the outputs from the folds of chunks.
template <typename Fold, typename T>
void MergeChunks(const FoldPlan& plan, const Fold* partial, T* out) {
  for (int64_t i = 0; i < plan.groups; ++i) {
    const FoldGroup group(plan, i);
    for (int64_t j = 0; j < group.columns; ++j) {
      Fold all;
      for (int64_t chunk = 0; chunk < plan.chunks; ++chunk) {
        all.Merge(partial[(i * plan.chunks + chunk) * plan.columns + j]);
      }
      out[group.out + j] = Narrow<T>(all.Result());
    }
  }
}

// Writes the results in the order of the kept dimensions. `scratch` has
// FoldScratchBytes bytes.
template <typename Fold, typename T>
void FoldAll(const FoldPlan& plan, const T* x, T* out, void* scratch) {
  const ReduceAxes& axes = plan.axes;
  if (axes.terms == 0) {
    std::fill(out, out + axes.outputs, Narrow<T>(Fold().Result()));
    return;
  }
  if (axes.row_reduced && axes.reduced.count() == 1 && plan.chunks == 1) {
    return FoldRows<Fold>(axes, x, out);
  }
  auto* partial = static_cast<Fold*>(scratch);
  // `folds` has group.columns elements, of a reduced row one.
  const auto store = [&](int64_t task, const FoldGroup& group,
                         std::span<const Fold> folds) {
    if (plan.chunks > 1) {
      std::ranges::copy(folds, partial + task * plan.columns);
      return;
    }
    T* to = out + group.out;
    for (const Fold& fold : folds) {
      *to++ = Narrow<T>(fold.Result());
    }
  };
  const auto fold_chunk = [&](int64_t task) {
    const FoldGroup group(plan, task / plan.chunks);
    const int64_t begin = plan.ChunkBegin(task % plan.chunks);
    const int64_t end = plan.ChunkBegin(task % plan.chunks + 1);
    if (axes.row_reduced) {
      Fold fold;
      ForTerms(axes, begin, end, [&](int64_t offset, int64_t count) {
        AddNeighbours(x + group.x + offset, count, &fold);
      });
      return store(task, group, {&fold, 1});
    }
    // Not all are needed, and so not all are initialized.
    alignas(Fold) std::byte storage[FoldPlan::kManyColumns * sizeof(Fold)];
    auto* const folds = reinterpret_cast<Fold*>(storage);
    std::uninitialized_default_construct_n(folds, group.columns);
    const bool narrow = axes.reduced.rank == 1 &&
                        axes.reduced.steps[0] == axes.row_size &&
                        2 * axes.row_size <= FoldPlan::kColumns;
    if (narrow) {
      AddNarrowColumns(axes, begin, end, x + group.x, folds);
    } else {
      AddColumns(axes, begin, end, x + group.x, group.columns, folds);
    }
    store(task, group, {folds, static_cast<size_t>(group.columns)});
  };
  const int64_t cost =
      std::max<int64_t>(1, axes.terms / plan.chunks * plan.columns);
  ParallelFor(plan.groups * plan.chunks,
              std::max<int64_t>(1, FoldPlan::kGrain / cost),
              [&](int64_t begin, int64_t end) {
                for (int64_t task = begin; task < end; ++task) {
                  fold_chunk(task);
                }
              });
  if (plan.chunks > 1) MergeChunks(plan, partial, out);
}

// The size of FoldGradient's `scratch`: the shares, then the shares of chunks.
template <typename Share>
size_t ShareScratchBytes(const FoldPlan& plan) {
  if (!Share::kSees) return 0;
  return static_cast<size_t>(plan.axes.outputs) * sizeof(Share) +
         FoldScratchBytes<Share>(plan);
}

// Calls term(output, offset) for the terms of a chunk of a group.
template <typename Term>
void ForTermsOf(const FoldPlan& plan,
                const FoldGroup& group,
                int64_t chunk,
                const Term& term) {
  const bool rows = plan.axes.row_reduced;
  ForTerms(plan.axes, plan.ChunkBegin(chunk), plan.ChunkBegin(chunk + 1),
           [&](int64_t offset, int64_t count) {
             const int64_t many = rows ? count : group.columns;
             for (int64_t j = 0; j < many; ++j) {
               term(group.out + (rows ? 0 : j), group.x + offset + j);
             }
           });
}

// Calls body(group, task) for each chunk of each group. `task` is the group's
// number times plan.chunks plus the chunk's number.
template <typename Body>
void ForEachChunk(const FoldPlan& plan, const Body& body) {
  const int64_t cost = std::max<int64_t>(1, plan.axes.terms * plan.columns);
  ParallelFor(plan.groups * plan.chunks,
              std::max<int64_t>(1, FoldPlan::kGrain * plan.chunks / cost),
              [&](int64_t begin, int64_t end) {
                for (int64_t task = begin; task < end; ++task) {
                  body(FoldGroup(plan, task / plan.chunks), task);
                }
              });
}

// Computes `shares`, one for each output, from its terms. `partial` has space
// for the shares of chunks.
template <typename Share, typename T>
void SeeTerms(const FoldPlan& plan,
              const T* x,
              const T* out,
              Share* shares,
              Share* partial) {
  ForEachChunk(plan, [&](const FoldGroup& group, int64_t task) {
    Share* to =
        plan.chunks == 1 ? shares + group.out : partial + task * plan.columns;
    std::fill(to, to + group.columns, Share());
    ForTermsOf(plan, group, task % plan.chunks,
               [&](int64_t output, int64_t at) {
                 to[output - group.out].Add(Widen(x[at]), Widen(out[output]));
               });
  });
  if (plan.chunks == 1) return;
  for (int64_t i = 0; i < plan.groups; ++i) {
    const FoldGroup group(plan, i);
    for (int64_t j = 0; j < group.columns; ++j) {
      Share all;
      for (int64_t chunk = 0; chunk < plan.chunks; ++chunk) {
        all.Merge(partial[(i * plan.chunks + chunk) * plan.columns + j]);
      }
      shares[group.out + j] = all;
    }
  }
}

// Computes x_grad. x is not empty.
template <typename Share, typename T>
void FoldGradient(const FoldPlan& plan,
                  const T* x,
                  const T* out,
                  const T* out_grad,
                  T* x_grad,
                  void* scratch) {
  auto* shares = static_cast<Share*>(scratch);
  if constexpr (Share::kSees) {
    SeeTerms(plan, x, out, shares, shares + plan.axes.outputs);
  }
  ForEachChunk(plan, [&](const FoldGroup& group, int64_t task) {
    ForTermsOf(
        plan, group, task % plan.chunks, [&](int64_t output, int64_t at) {
          Share share;
          if constexpr (Share::kSees) share = shares[output];
          x_grad[at] = Narrow<T>(share.Of(Widen(x[at]), Widen(out[output]),
                                          Widen(out_grad[output])));
        });
  });
}

}  // namespace
}  // namespace sluice

// The kernels of the rows of the table of reductions.
namespace sluice {
namespace {

template <typename T, typename Row>
class ReductionKernel final : public OpKernel {
 public:
  explicit ReductionKernel(const OpKernelConstruction& construction)
      : reduced_(construction) {}

  void Prepare(KernelPreparation& preparation) override {
    const DDim& x = preparation.query.inputs[0];
    plan_ = FoldPlan(x, reduced_.Of(x));
    preparation.scratch_bytes = FoldScratchBytes<Fold>(plan_);
    out_dims_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Tensor& out = context.AllocateOutput(0, out_dims_);
    if (out.numel() == 0) return;
    FoldAll<Fold>(plan_, x.data<T>(), out.data<T>(), context.scratch());
  }

 private:
  using Fold = typename Row::template Fold<Computed<T>>;

  ReducedDims reduced_;
  FoldPlan plan_;
  DDim out_dims_;
};

template <typename T, typename Row>
class ReductionGradKernel final : public OpKernel {
 public:
  explicit ReductionGradKernel(const OpKernelConstruction& construction)
      : reduced_(construction) {}

  void Prepare(KernelPreparation& preparation) override {
    x_dims_ = preparation.query.inputs[0];
    plan_ = FoldPlan(x_dims_, reduced_.Of(x_dims_));
    preparation.scratch_bytes = ShareScratchBytes<Share>(plan_);
  }

  void Compute(OpKernelContext& context) const override {
    Tensor& x_grad = context.AllocateOutput(0, x_dims_);
    if (x_grad.numel() == 0) return;
    FoldGradient<Share>(plan_, context.Input(0).data<T>(),
                        context.Input(1).data<T>(), context.Input(2).data<T>(),
                        x_grad.data<T>(), context.scratch());
  }

 private:
  using Share = typename Row::template Share<Computed<T>>;

  ReducedDims reduced_;
  FoldPlan plan_;
  DDim x_dims_;
};

template <typename Row, typename... T>
void AddKernels(Registry& registry) {
  AddPlainKernels<EstimatedBy<&ReductionWork>, ReductionKernel<T, Row>...>(
      registry, Row::kInfo.name, CPUPlace());
}

template <typename Row>
void AddRow(Registry& registry) {
  constexpr ReductionDTypes kDTypes = Row::kInfo.dtypes;
  if constexpr (kDTypes == ReductionDTypes::kBool) {
    AddKernels<Row, bool>(registry);
  } else {
    AddKernels<Row, float, double, float16, bfloat16>(registry);
  }
  if constexpr (kDTypes == ReductionDTypes::kSums) {
    AddKernels<Row, int32_t, int64_t>(registry);
  } else if constexpr (kDTypes == ReductionDTypes::kOrdered) {
    AddKernels<Row, int8_t, uint8_t, int32_t, int64_t, bool>(registry);
  }
  if constexpr (Row::kInfo.gradient == ReductionGradient::kXAndOut) {
    AddPlainKernels<ReductionGradKernel<FloatAndHalfTypes, Row>>(
        registry, std::string(Row::kInfo.name) + "_grad", CPUPlace());
  }
}

template <typename... Row>
void AddRows(Rows<Row...> /*table*/, Registry& registry) {
  (AddRow<Row>(registry), ...);
}

void AddReductionKernels(Registry& registry) {
  AddRows(ReductionTable(), registry);
}

}  // namespace

REGISTER_TABLE(reduction_kernels, AddReductionKernels);

}  // namespace sluice
