#include <algorithm>
#include <numeric>
#include <type_traits>
#include <vector>

#include "sluice/operators/math/search/order_key.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

void TopKShape(InferShapeContext& context) {
  const DDim x = context.input("X");
  const auto k = context.Attr<int64_t>("k");
  DDim out = x;
  if (x.rank_known() && x.rank() == 0) {
    context.Require(k == 1, "top_k.k_of_number",
                    "k = {}, and input X is a number; expected 1", k);
  } else if (x.rank_known()) {
    const int last = out.rank() - 1;
    context.Require(out[last] < 0 || k <= out[last], "top_k.k_range",
                    "k = {} is more than the last dim of input X {} has", k, x);
    out[last] = k;
  }
  context.SetOutput("Out", out);
  context.SetOutput("Indices", out);
}

void TopKLateShape(InferShapeContext& context) {
  DDim out = context.input("X");
  if (out.rank_known() && out.rank() > 0) {
    out[out.rank() - 1] = kUnknownDim;
  }
  context.SetOutput("Out", out);
  context.SetOutput("Indices", out);
}

// The gradient of each element goes to where it stands in its row.
std::vector<OpDesc> TopKGradient(const OpDesc& forward) {
  OpDesc grad =
      MakeGradOp(forward, "gather_elements_grad",
                 {.inputs = {"X"}, .output_grads = {"Out"}, .wanted = {"X"}});
  grad.inputs.emplace_back("Index", forward.Output("Indices"));
  grad.attributes = {{"axis", int64_t{-1}}};
  return {grad};
}

void TopKSchema(OpSchema& op) {
  op.Doc(
      "The k largest (or smallest) elements of each row of X and where they "
      "stand. Equal elements come by lower index first. NaN counts as larger "
      "than every number, as in NumPy's sort; 0 and -0 are equal.");
  std::vector<DType> dtypes = NumericDTypes();
  dtypes.push_back(DType::kUInt64);
  op.TypeVar("T", dtypes);
  op.Input("X", "T",
           "[..., n]: rows along the last dimension, n >= k; or one number.");
  op.Output("Out", "T", "[..., k]: the elements.");
  op.Output("Indices", "int64", "[..., k]: their indices in the row.");
  op.Attr<int64_t>("k", "How many of each row.").Default(int64_t{1}).AtLeast(0);
  op.Attr<bool>("largest", "The largest elements; false: the smallest.")
      .Default(true);
  op.Attr<bool>("sorted",
                "Best first; false: in an order that is not specified.")
      .Default(true);
  op.TypeVar("S", IndexDTypes());
  op.Operand("K", "k", "S", "Attribute k as one element.");
  op.InferShape(TopKShape).InferLateShape(TopKLateShape);
  op.Gradient(TopKGradient);
  op.SharesRows("Out", {"X"})
      .SharesRows("Indices", {"X"}, [](const OpDesc&, const DDim& x) {
        return x.rank_known() && x.rank() >= 2;
      });
  op.Sizes({{"X", "64, n"}, {"k", "1"}});
}

// The elements that justify a thread.
constexpr int64_t kTopKShardElements = 16384;

// Defines a strict order of the columns of one row: whether `a` precedes `b`.
template <typename T, bool kLargest>
struct Better {
  const T* row;

  bool operator()(int64_t a, int64_t b) const {
    const auto key_a = OrderKey(row[a]);
    const auto key_b = OrderKey(row[b]);
    if (key_a != key_b) return kLargest ? key_a > key_b : key_a < key_b;
    return a < b;
  }
};

// Whether an element may be better than `best`; with NaNs it is true more often
// than necessary.
template <bool kLargest, typename T>
bool MayBeat(T element, T best) {
  if constexpr (std::is_arithmetic_v<T>) {
    return kLargest ? !(element <= best) : !(element >= best);
  } else {
    return kLargest ? OrderKey(element) > OrderKey(best)
                    : OrderKey(element) < OrderKey(best);
  }
}

// Whether that holds for any element of a block. The loop has no branches.
constexpr int64_t kTopKBlock = 32;
template <bool kLargest, typename T>
bool AnyMayBeat(const T* block, T best) {
  int any = 0;
  for (int64_t i = 0; i < kTopKBlock; ++i) {
    any |= static_cast<int>(MayBeat<kLargest>(block[i], best));
  }
  return any != 0;
}

template <typename T, bool kLargest>
int64_t Best(const T* row, int64_t columns) {
  int64_t best = 0;
  auto best_key = OrderKey(row[0]);
  for (int64_t i = 0; i < columns;) {
    const int64_t end = std::min(i + kTopKBlock, columns);
    if (end - i == kTopKBlock && !AnyMayBeat<kLargest>(row + i, row[best])) {
      i = end;
    }
    for (; i < end; ++i) {
      const auto key = OrderKey(row[i]);
      if (kLargest ? key > best_key : key < best_key) {
        best_key = key;
        best = i;
      }
    }
  }
  return best;
}

// Calls take(i) for the columns [begin, end) that may be better than element
// worst() of the row, which take may change.
template <bool kLargest, typename T, typename Worst, typename Take>
void ForCandidates(const T* row,
                   int64_t begin,
                   int64_t end,
                   const Worst& worst,
                   const Take& take) {
  for (int64_t i = begin; i < end;) {
    const int64_t stop = std::min(i + kTopKBlock, end);
    if (stop - i == kTopKBlock &&
        !AnyMayBeat<kLargest>(row + i, row[worst()])) {
      i = stop;
    }
    for (; i < stop; ++i) {
      if (MayBeat<kLargest>(row[i], row[worst()])) take(i);
    }
  }
}

// So few are kept in order.
constexpr int64_t kFewBest = 16;

// Keeps the best so far in `indices`, best first.
template <typename T, bool kLargest>
void SelectFew(const T* row, int64_t columns, int64_t k, int64_t* indices) {
  const Better<T, kLargest> better{row};
  const auto insert = [&](int64_t i, int64_t at) {
    for (; at > 0 && better(i, indices[at - 1]); --at) {
      indices[at] = indices[at - 1];
    }
    indices[at] = i;
  };
  for (int64_t i = 0; i < k; ++i) {
    insert(i, i);
  }
  int64_t* const last = indices + k - 1;
  ForCandidates<kLargest>(
      row, k, columns, [last] { return *last; },
      [&](int64_t i) {
        if (better(i, *last)) insert(i, k - 1);
      });
}

// The key of an element, in the upper half, and its column: the least is the
// best. Elements of up to 4 bytes in up to 2^32 columns need half of one.
using Rank = unsigned __int128;
template <typename R>
using RankHalf = std::conditional_t<sizeof(R) == 8, uint32_t, uint64_t>;
template <typename R, bool kLargest, typename T>
R RankOf(T element, int64_t column) {
  using Half = RankHalf<R>;
  constexpr int kBits = 8 * sizeof(Half);
  const auto key = OrderKey(element);
  auto order = static_cast<Half>(+key);
  if constexpr (std::is_signed_v<decltype(key)>) {
    order ^= Half{1} << (kBits - 1);
  }
  if constexpr (kLargest) order = ~order;
  return (R{order} << kBits) | static_cast<Half>(column);
}

// Sorts ranks whose columns ascend where keys are equal: by one byte of the
// keys after the other, which takes no branches. `spare` has as many elements.
template <typename R>
void SortRanks(R* ranks, R* spare, int64_t count) {
  R* from = ranks;
  for (size_t shift = 4 * sizeof(R); shift < 8 * sizeof(R); shift += 8) {
    const auto digit = [shift](R rank) {
      return static_cast<uint8_t>(rank >> shift);
    };
    int64_t ends[257] = {};
    for (int64_t i = 0; i < count; ++i) {
      ++ends[digit(from[i]) + 1];
    }
    if (ends[digit(*from) + 1] == count) continue;
    std::partial_sum(ends, ends + 257, ends);
    R* const to = from == ranks ? spare : ranks;
    for (int64_t i = 0; i < count; ++i) {
      to[ends[digit(from[i])]++] = from[i];
    }
    from = to;
  }
  if (from == spare) std::copy(spare, spare + count, ranks);
}

// How many ranks SelectRow keeps.
int64_t RoomForRanks(int64_t columns, int64_t k) {
  return std::min(columns, 2 * k + 2 * kTopKBlock);
}

// Keeps the best so far in front of `ranks`, and of those that came later what
// may be better than the worst of these k. `ranks` has twice the room.
template <typename T, typename R, bool kLargest>
void SelectRow(
    const T* row, int64_t columns, int64_t k, R* ranks, int64_t* indices) {
  const int64_t room = RoomForRanks(columns, k);
  const auto column_of = [](R rank) {
    return static_cast<int64_t>(static_cast<RankHalf<R>>(rank));
  };
  int64_t count = 0;
  for (; count < k; ++count) {
    ranks[count] = RankOf<R, kLargest>(row[count], count);
  }
  const auto cut = [&] {
    SortRanks(ranks, ranks + room, count);
    count = k;
  };
  cut();
  ForCandidates<kLargest>(
      row, k, columns, [&] { return column_of(ranks[k - 1]); },
      [&](int64_t i) {
        ranks[count++] = RankOf<R, kLargest>(row[i], i);
        if (count == room) cut();
      });
  cut();
  std::transform(ranks, ranks + k, indices, column_of);
}

template <typename T, typename R, bool kLargest>
void SelectRows(const T* x,
                int64_t rows,
                int64_t columns,
                int64_t k,
                T* values,
                int64_t* indices) {
  std::vector<R> ranks(k <= kFewBest ? 0 : 2 * RoomForRanks(columns, k));
  for (int64_t row = 0; row < rows; ++row) {
    if (k == 1) {
      indices[0] = Best<T, kLargest>(x, columns);
    } else if (k <= kFewBest) {
      SelectFew<T, kLargest>(x, columns, k, indices);
    } else {
      SelectRow<T, R, kLargest>(x, columns, k, ranks.data(), indices);
    }
    for (int64_t i = 0; i < k; ++i) {
      values[i] = x[indices[i]];
    }
    x += columns;
    values += k;
    indices += k;
  }
}

// Writes the k best elements of each row of x [rows, columns] to values [rows,
// k] and their columns to indices [rows, k], best first. Runs in host memory
// through ParallelFor; 0 <= k <= columns. Equal elements are ordered by index;
// NaN is larger than every number; 0 and -0 are equal. T: every dtype but bool.
template <typename T>
void TopK(const T* x,
          int64_t rows,
          int64_t columns,
          int64_t k,
          bool largest,
          T* values,
          int64_t* indices) {
  auto select =
      largest ? &SelectRows<T, Rank, true> : &SelectRows<T, Rank, false>;
  if constexpr (sizeof(T) <= 4) {
    if (columns <= int64_t{1} << 32) {
      select = largest ? &SelectRows<T, uint64_t, true>
                       : &SelectRows<T, uint64_t, false>;
    }
  }
  const int64_t grain = std::max<int64_t>(kTopKShardElements / columns, 1);
  ParallelFor(rows, grain, [&](int64_t begin, int64_t end) {
    select(x + begin * columns, end - begin, columns, k, values + begin * k,
           indices + begin * k);
  });
}

template <typename T>
class TopKKernel final : public OpKernel {
 public:
  explicit TopKKernel(const OpKernelConstruction& construction)
      : k_(construction.Attr<int64_t>("k")),
        largest_(construction.Attr<bool>("largest")) {}

  void Prepare(KernelPreparation& preparation) override {
    const DDim& x = preparation.query.inputs[0];
    columns_ = x.rank() == 0 ? 1 : x.at(-1);
    rows_ = x.Product(0, x.rank() - 1);
    out_dims_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    Tensor& out = context.AllocateOutput(0, out_dims_);
    Tensor& indices = context.AllocateOutput(1, out_dims_);
    if (out.numel() == 0) return;
    TopK(context.Input(0).data<T>(), rows_, columns_, k_, largest_,
         out.data<T>(), indices.data<int64_t>());
  }

 private:
  int64_t k_;
  bool largest_;
  int64_t rows_ = 0;
  int64_t columns_ = 1;
  DDim out_dims_;
};

// All elements are looked at; what is found is kept in order.
KernelWork TopKWork(const KernelQuery& query) {
  KernelWork work = DefaultKernelWork(query);
  work.terms = static_cast<double>(query.inputs[0].numel());
  work.sums = static_cast<double>(query.outputs[0].numel());
  if (query.Attr<int64_t>("k") <= kFewBest) work.costs = "top_k_few";
  return work;
}

}  // namespace

REGISTER_OPERATOR(top_k, TopKSchema);
REGISTER_OP_CPU_KERNEL(top_k,
                       EstimatedBy<&TopKWork>,
                       TopKKernel<NumberTypes>,
                       TopKKernel<uint64_t>);

}  // namespace sluice
