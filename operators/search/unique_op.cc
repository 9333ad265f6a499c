#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <type_traits>

#include "sluice/operators/math/half_conversions.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/number_format.h"

namespace sluice {
namespace {

void UniqueShape(InferShapeContext& context) {
  const DDim x = context.input("X");
  DDim out = x;
  int64_t inverse = kUnknownDim;
  if (context.Attr<bool>("flatten")) {
    out = DDim({kUnknownDim});
    if (x.known()) inverse = x.numel();
  } else if (x.rank_known()) {
    const auto axis = context.Attr<int64_t>("axis");
    context.Require(axis >= -x.rank() && axis < x.rank(), "unique.axis",
                    "attribute axis = {} is no dimension of input X {}; "
                    "expected {} to {}",
                    axis, x, -x.rank(), x.rank() - 1);
    const auto at = static_cast<int>(axis < 0 ? axis + x.rank() : axis);
    inverse = x[at];
    out[at] = kUnknownDim;
  }
  context.SetOutput("Out", out);
  context.SetOutput("Index", DDim({kUnknownDim}));
  context.SetOutput("Inverse", DDim({inverse}));
  context.SetOutput("Counts", DDim({kUnknownDim}));
}

void UniqueSchema(OpSchema& op) {
  op.Doc(
      "The different elements of X, or the different slices along an axis, as "
      "np.unique: equal are NaN and NaN, and 0 and -0. How many there are is "
      "known when it has run.");
  op.TypeVar("T", AllDTypes());
  op.Input("X", "T", "Of any shape.");
  op.Output(
      "Out", "T",
      "[n], or X with n slices along the axis: the first of those that "
      "are equal. Sorted: by their elements in row-major order, NaN last.");
  op.Output("Index", "int64", "[n]: where in X the first one of each is.",
            {.optional = true});
  op.Output("Inverse", "int64",
            "[elements or slices of X]: which of Out each is.",
            {.optional = true});
  op.Output("Counts", "int64", "[n]: how many of each X has.",
            {.optional = true});
  op.Attr<bool>("flatten", "Looks at the elements of X, whatever axis says.")
      .Default(true);
  op.Attr<int64_t>("axis",
                   "Along which slices are compared; a negative one counts "
                   "from the end.")
      .Default(int64_t{0});
  op.Attr<bool>("sorted", "Otherwise they come in the order of X.")
      .Default(true);
  op.InferShape(UniqueShape);
  op.NoGradient("how many elements Out has changes with the values of X");
}

// Returns -1, 0 or 1. NaN is larger than every number and equal to itself.
template <typename Key>
int Compare(Key a, Key b) {
  if constexpr (std::is_floating_point_v<Key>) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) - std::isnan(b);
  }
  return (a > b) - (a < b);
}

// Views X as rows that are compared: elements, or slices along an axis.
struct Rows {
  int64_t count = 0;
  int64_t outer = 1;
  int64_t inner = 1;

  int64_t Offset(int64_t row, int64_t element) const {
    return (element / inner * count + row) * inner + element % inner;
  }
  int64_t size() const { return outer * inner; }
};

template <typename Key>
int CompareRows(const Rows& rows, const Key* keys, int64_t a, int64_t b) {
  for (int64_t i = 0; i < rows.size(); ++i) {
    const int order = Compare(keys[rows.Offset(a, i)], keys[rows.Offset(b, i)]);
    if (order != 0) return order;
  }
  return 0;
}

// The first of each set of equal rows, and the set of each row.
struct Sets {
  Ints first;
  Ints counts;
  Ints set_of;
};

template <typename Key>
Sets FindSets(const Rows& rows, const Key* keys, bool sorted) {
  Ints order(static_cast<size_t>(rows.count));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return CompareRows(rows, keys, a, b) < 0;
  });
  Sets sets;
  sets.set_of.resize(order.size());
  for (const int64_t row : order) {
    const bool is_new = sets.first.empty() ||
                        CompareRows(rows, keys, sets.first.back(), row) != 0;
    if (is_new) {
      sets.first.push_back(row);
      sets.counts.push_back(0);
    }
    ++sets.counts.back();
    sets.set_of[static_cast<size_t>(row)] =
        static_cast<int64_t>(sets.first.size()) - 1;
  }
  if (sorted) return sets;
  Ints by_place(sets.first.size());
  std::iota(by_place.begin(), by_place.end(), int64_t{0});
  std::sort(by_place.begin(), by_place.end(), [&](int64_t a, int64_t b) {
    return sets.first[static_cast<size_t>(a)] <
           sets.first[static_cast<size_t>(b)];
  });
  Sets placed;
  Ints new_place(by_place.size());
  for (size_t i = 0; i < by_place.size(); ++i) {
    const auto old = static_cast<size_t>(by_place[i]);
    placed.first.push_back(sets.first[old]);
    placed.counts.push_back(sets.counts[old]);
    new_place[old] = static_cast<int64_t>(i);
  }
  for (const int64_t set : sets.set_of) {
    placed.set_of.push_back(new_place[static_cast<size_t>(set)]);
  }
  return placed;
}

void Give(OpKernelContext& context, const char* output, const Ints& values) {
  if (!context.HasOutput(output)) return;
  Tensor& out = context.AllocateOutput(
      output, DDim({static_cast<int64_t>(values.size())}));
  std::copy(values.begin(), values.end(), out.data<int64_t>());
}

void GiveRows(OpKernelContext& context,
              const DDim& dims,
              const Rows& rows,
              const Ints& first) {
  const Tensor& x = context.Input(0);
  Tensor& out = context.AllocateOutput(0, dims);
  const size_t bytes = SizeOf(x.dtype()) * static_cast<size_t>(rows.inner);
  const auto* from = static_cast<const char*>(x.raw_data());
  auto* to = static_cast<char*>(out.raw_data());
  if (out.numel() == 0) return;
  for (int64_t i = 0; i < rows.outer; ++i) {
    for (const int64_t row : first) {
      std::memcpy(to, from + static_cast<size_t>(i * rows.count + row) * bytes,
                  bytes);
      to += bytes;
    }
  }
}

// float64 represents the numbers of all dtypes but these two.
template <typename T>
using KeyOf = std::conditional_t<std::is_same_v<T, int64_t> ||
                                     std::is_same_v<T, uint64_t>,
                                 T,
                                 double>;

template <typename T>
std::vector<KeyOf<T>> KeysOf(const Tensor& x) {
  const T* values = x.data<T>();
  std::vector<KeyOf<T>> keys(static_cast<size_t>(x.numel()));
  for (size_t i = 0; i < keys.size(); ++i) {
    if constexpr (IsStoredNumber(kDTypeOf<T>)) {
      keys[i] = StoredValues(x.dtype())[values[i].bits];
    } else {
      keys[i] = static_cast<KeyOf<T>>(Widen(values[i]));
    }
  }
  return keys;
}

class UniqueKernel final : public OpKernel {
 public:
  explicit UniqueKernel(const OpKernelConstruction& construction)
      : axis_(construction.Attr<int64_t>("axis")),
        flatten_(construction.Attr<bool>("flatten")),
        sorted_(construction.Attr<bool>("sorted")) {}

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const DDim dims = flatten_ ? DDim({x.numel()}) : x.dims();
    const auto axis =
        flatten_ ? 0
                 : static_cast<int>(axis_ < 0 ? axis_ + dims.rank() : axis_);
    Rows rows{.count = dims[axis]};
    for (int i = 0; i < dims.rank(); ++i) {
      if (i != axis) (i < axis ? rows.outer : rows.inner) *= dims[i];
    }
    const Sets sets = VisitDType(x.dtype(), [&]<typename T>() {
      return FindSets(rows, KeysOf<T>(x).data(), sorted_);
    });
    DDim out = dims;
    out[axis] = static_cast<int64_t>(sets.first.size());
    GiveRows(context, out, rows, sets.first);
    Give(context, "Index", sets.first);
    Give(context, "Inverse", sets.set_of);
    Give(context, "Counts", sets.counts);
  }

 private:
  int64_t axis_;
  bool flatten_;
  bool sorted_;
};

KernelWork UniqueWork(const KernelQuery& query) {
  KernelWork work = DefaultKernelWork(query);
  work.terms = static_cast<double>(query.inputs[0].numel());
  return work;
}

}  // namespace

REGISTER_OPERATOR(unique, UniqueSchema);
REGISTER_OP_CPU_KERNEL(unique, EstimatedBy<&UniqueWork>, UniqueKernel);

}  // namespace sluice
