#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "sluice/operators/math/movement/transpose_tile.h"
#include "sluice/operators/math/reduction/extremes.h"
#include "sluice/operators/math/search/order_key.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/row_wise.h"
#include "sluice/operators/search/arg_best.h"
#include "sluice/platform/parallel_for.h"

// arg_max and arg_min.
namespace sluice {
namespace {

void RequireElements(const InferShapeContext& context,
                     const DDim& x,
                     int64_t size) {
  context.Require(size != 0, "arg_best.empty",
                  "input X {} has no elements to choose from", x);
}

void ArgBestShape(InferShapeContext& context) {
  const DDim x = context.input("X");
  const bool keep = context.Attr<bool>("keepdims");
  if (!x.rank_known()) {
    const bool scalar = context.Attr<bool>("flatten") && !keep;
    return context.SetOutput("Out", scalar ? DDim() : DDim::UnknownRank());
  }
  DDim out;
  if (context.Attr<bool>("flatten")) {
    for (int axis = 0; axis < x.rank(); ++axis) {
      RequireElements(context, x, x[axis]);
      if (keep) out.InsertDim(axis, 1);
    }
    return context.SetOutput("Out", out);
  }
  const auto axis = context.Attr<int64_t>("axis");
  context.Require(axis >= -x.rank() && axis < x.rank(), "arg_best.axis",
                  "attribute axis = {} is no dimension of input X {}; expected "
                  "{} to {}",
                  axis, x, -x.rank(), x.rank() - 1);
  const auto at = static_cast<int>(axis < 0 ? axis + x.rank() : axis);
  RequireElements(context, x, x[at]);
  for (int i = 0; i < x.rank(); ++i) {
    if (i != at) {
      out.InsertDim(out.rank(), x[i]);
    } else if (keep) {
      out.InsertDim(out.rank(), 1);
    }
  }
  context.SetOutput("Out", out);
}

void Schema(const std::string& best, const char* torch, OpSchema& op) {
  op.Doc("The index of the " + best +
         " element along one dimension. As in NumPy NaN comes before every "
         "number, and the first of equal elements counts; 0 and -0 are equal.");
  op.TypeVar("T", NumericDTypes());
  op.Input("X", "T", "With at least one element along the dimension.");
  op.Output("Out", "int64",
            "The indices: X's shape without the dimension, or with size 1 "
            "there.");
  op.Attr<int64_t>("axis", "The dimension; a negative one counts from the end.")
      .Default(int64_t{0});
  op.Attr<bool>("keepdims", "Whether the dimension stays, with size 1.")
      .Default(false);
  op.Attr<bool>("flatten",
                "Looks at all elements as one row, whatever axis says.")
      .Default(false);
  op.Attr<bool>("select_last_index", "The last of equal elements instead.")
      .Default(false);
  op.InferShape(ArgBestShape).Torch(torch);
  op.SharesRows("Out", {"X"}, AxisSparesRows);
}

void ArgMaxSchema(OpSchema& op) {
  Schema("largest", "torch.argmax(X, axis)", op);
}
void ArgMinSchema(OpSchema& op) {
  Schema("smallest", "torch.argmin(X, axis)", op);
}

// The elements that justify a thread.
constexpr int64_t kShardElements = 16384;
// The columns that are searched together.
constexpr int64_t kColumns = 64;
// Most blocks of this many elements of a row contain no better element.
constexpr int64_t kBlock = 32;

// Returns a signed integer that is larger for a better element and equal for
// equal elements.
template <bool kLargest, typename T>
auto Merit(T value) {
  const auto key = OrderKey(value);
  using Key = std::remove_const_t<decltype(key)>;
  if constexpr (kLargest) {
    return key;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<Key>(~key);
  } else {
    // NaN has the largest key in both directions.
    constexpr Key kNan = std::numeric_limits<Key>::max();
    return key == kNan ? kNan : static_cast<Key>(~key);
  }
}

template <bool kLargest, bool kLast, typename T>
bool Beats(T value, decltype(Merit<kLargest>(T{})) best) {
  const auto merit = Merit<kLargest>(value);
  return kLast ? merit >= best : merit > best;
}

// Returns the first or last element that equals `best`, or is NaN if that is.
template <bool kLast, typename T>
int64_t Find(const T* row, int64_t size, T best) {
  const auto found = [&](int64_t i) {
    return row[i] == best || (std::isnan(best) && std::isnan(row[i]));
  };
  for (int64_t i = 0; i < size;) {
    const int64_t count = std::min(kBlock, size - i);
    const int64_t begin = kLast ? size - i - count : i;
    int any = 0;
    for (int64_t j = begin; j < begin + count; ++j) {
      any |= static_cast<int>(found(j));
    }
    i += count;
    if (any == 0) continue;
    int64_t at = kLast ? begin + count - 1 : begin;
    while (!found(at)) {
      at += kLast ? -1 : 1;
    }
    return at;
  }
  return 0;
}

template <bool kLargest, bool kLast, typename T>
int64_t BestOfRow(const T* row, int64_t size) {
  if constexpr (std::is_floating_point_v<T>) {
    const T best = kLargest ? LargestOf(row, size) : SmallestOf(row, size);
    return Find<kLast>(row, size, best);
  }
  int64_t found = 0;
  auto best = Merit<kLargest>(row[0]);
  for (int64_t i = 1; i < size;) {
    const int64_t end = std::min(i + kBlock, size);
    int any = 0;
    for (int64_t j = i; j < end; ++j) {
      any |= static_cast<int>(Beats<kLargest, kLast>(row[j], best));
    }
    if (any == 0) i = end;
    for (; i < end; ++i) {
      if (!Beats<kLargest, kLast>(row[i], best)) continue;
      best = Merit<kLargest>(row[i]);
      found = i;
    }
  }
  return found;
}

// Searches `count` adjacent columns, at most kColumns. Indices are as wide as
// merits, where these hold them, so that the loop is vectorized.
template <typename Index, bool kLargest, bool kLast, typename T>
void BestOfColumns(
    const T* x, int64_t size, int64_t step, int64_t count, int64_t* out) {
  decltype(Merit<kLargest>(T{})) best[kColumns];
  Index at[kColumns];
  for (int64_t j = 0; j < count; ++j) {
    best[j] = Merit<kLargest>(x[j]);
    at[j] = 0;
  }
  for (int64_t i = 1; i < size; ++i) {
    const T* row = x + i * step;
    for (int64_t j = 0; j < count; ++j) {
      const auto merit = Merit<kLargest>(row[j]);
      const bool better = kLast ? merit >= best[j] : merit > best[j];
      best[j] = better ? merit : best[j];
      at[j] = better ? static_cast<Index>(i) : at[j];
    }
  }
  std::copy(at, at + count, out);
}

// Returns BestOfColumns for rows of `size` elements.
template <bool kLargest, bool kLast, typename T>
auto ColumnsSearch(int64_t size) {
  const bool few = size <= std::numeric_limits<int32_t>::max();
  return sizeof(T) < sizeof(int64_t) && few
             ? &BestOfColumns<int32_t, kLargest, kLast, T>
             : &BestOfColumns<int64_t, kLargest, kLast, T>;
}

// Rows of up to kShortRow elements are transposed and searched as columns.
constexpr int64_t kShortRow = 8;
template <bool kLargest, bool kLast, typename T>
void BestOfShortRows(const ArgBestPlan& plan, const T* x, int64_t* out) {
  constexpr int64_t kSize = sizeof(T);
  const int64_t size = plan.size;
  const auto search = ColumnsSearch<kLargest, kLast, T>(size);
  ParallelFor(plan.outer, kShardElements / size,
              [=](int64_t begin, int64_t end) {
                T columns[kShortRow * kColumns];
                for (int64_t i = begin; i < end; i += kColumns) {
                  const int64_t rows = std::min(kColumns, end - i);
                  TransposeTile(reinterpret_cast<const char*>(x + i * size),
                                size * kSize, reinterpret_cast<char*>(columns),
                                kColumns * kSize, size, rows, kSize);
                  search(columns, size, kColumns, rows, out + i);
                }
              });
}

template <bool kLargest, bool kLast, typename T>
void Run(const ArgBestPlan& plan, const T* x, int64_t* out) {
  if (plan.inner == 1 && plan.size <= kShortRow) {
    return BestOfShortRows<kLargest, kLast>(plan, x, out);
  }
  const auto search = ColumnsSearch<kLargest, kLast, T>(plan.size);
  const int64_t blocks = (plan.inner + kColumns - 1) / kColumns;
  const int64_t work = plan.size * std::min(plan.inner, kColumns);
  ParallelFor(plan.outer * blocks, std::max<int64_t>(kShardElements / work, 1),
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                  const int64_t outer = i / blocks;
                  const int64_t first = i % blocks * kColumns;
                  const T* from = x + outer * plan.size * plan.inner + first;
                  int64_t* to = out + outer * plan.inner + first;
                  if (plan.inner == 1) {
                    *to = BestOfRow<kLargest, kLast>(from, plan.size);
                  } else {
                    search(from, plan.size, plan.inner,
                           std::min(kColumns, plan.inner - first), to);
                  }
                }
              });
}

// Writes to out [outer, inner] the index of the largest, or smallest, element
// of each line. Runs in host memory through ParallelFor. size is at least 1.
// NaN is better than every number; 0 and -0 are equal. T: every dtype but bool.
template <typename T>
void ArgBest(const ArgBestPlan& plan, const T* x, int64_t* out) {
  if (plan.largest) {
    plan.last ? Run<true, true>(plan, x, out) : Run<true, false>(plan, x, out);
  } else {
    plan.last ? Run<false, true>(plan, x, out)
              : Run<false, false>(plan, x, out);
  }
}

template <typename T>
class ArgBestKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    plan_ = ArgBestPlanOf(preparation.query);
    out_dims_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    Tensor& out = context.AllocateOutput(0, out_dims_);
    if (out.numel() == 0) return;
    ArgBest(plan_, context.Input(0).data<T>(), out.data<int64_t>());
  }

 private:
  ArgBestPlan plan_;
  DDim out_dims_;
};

// Lines are searched by themselves, or pieces of them in columns.
KernelWork ArgBestWork(const KernelQuery& query) {
  const ArgBestPlan plan = ArgBestPlanOf(query);
  KernelWork work = DefaultKernelWork(query);
  work.terms = static_cast<double>(query.inputs[0].numel());
  const int64_t pieces = (plan.inner + kColumns - 1) / kColumns;
  work.rows = static_cast<double>(plan.outer) *
              static_cast<double>(plan.inner == 1 ? 1 : plan.size * pieces);
  return work;
}

void AddArgBestKernels(Registry& registry) {
  for (const char* op : {"arg_max", "arg_min"}) {
    AddPlainKernels<EstimatedBy<&ArgBestWork>, ArgBestKernel<NumberTypes>>(
        registry, op, CPUPlace());
  }
}

}  // namespace

REGISTER_OPERATOR(arg_max, ArgMaxSchema);
REGISTER_OPERATOR(arg_min, ArgMinSchema);
REGISTER_TABLE(arg_best_kernels, AddArgBestKernels);

}  // namespace sluice
