#include "sluice/operators/indexing/indexed_slices.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <type_traits>

#include "sluice/framework/op/op_schema.h"
#include "sluice/operators/math/movement/merged_rows.h"
#include "sluice/platform/dtype_sets.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

// Returns the stride of axis `axis` of `x`, in slices: those are the elements
// of x's dims before `end`.
int64_t StepOf(const DDim& x, int axis, int end) {
  return x.Product(axis + 1, end);
}

IndexPlan ElementsPlan(const DDim& x, const DDim& index, int64_t given) {
  if (x.rank() == 0) return ElementsPlan({1}, {1}, 0);
  IndexPlan plan;
  const int rank = x.rank();
  const auto axis = static_cast<int>(given < 0 ? given + rank : given);
  plan.count = index.numel();
  plan.slices = x.numel();
  plan.named = 1;
  plan.dims[0] = x[axis];
  plan.dim_steps[0] = StepOf(x, axis, rank);
  plan.rank = rank;
  for (int i = 0; i < rank; ++i) {
    plan.sizes[i] = index[i];
    plan.steps[i] = i == axis ? 0 : StepOf(x, i, rank);
  }
  plan.length = index[axis];
  plan.within = index.Product(axis + 1, rank);
  plan.spread = plan.dim_steps[0];
  return plan;
}

IndexPlan NdPlan(const DDim& x, const DDim& index, int batch_dims) {
  IndexPlan plan;
  const int last = index.rank() - 1;
  plan.named = static_cast<int>(index[last]);
  const int end = batch_dims + plan.named;
  plan.count = index.Product(0, last);
  plan.slices = x.Product(0, end);
  plan.inner = x.Product(end, x.rank());
  for (int k = 0; k < plan.named; ++k) {
    plan.dims[k] = x[batch_dims + k];
    plan.dim_steps[k] = StepOf(x, batch_dims + k, end);
  }
  plan.length = index.Product(batch_dims, last);
  if (batch_dims > 0) {
    plan.rank = 2;
    plan.sizes[0] = index.Product(0, batch_dims);
    plan.steps[0] = x.Product(batch_dims, end);
    plan.sizes[1] = plan.length;
  }
  return plan;
}

// Calls own(begin, end) for the places that each shard owns: it searches all of
// `places` for them.
template <typename Own>
void SharePlaces(int64_t count, int64_t slices, int64_t inner, const Own& own) {
  const int64_t work = count * std::max<int64_t>(inner, 1);
  const int64_t shards = std::max<int64_t>(work / kGrain, 1);
  ParallelFor(slices, (slices - 1) / shards + 1, own);
}

// Calls body(i, place) for each i in [0, count), in ascending order for each
// place, or in descending order.
template <bool kDescending = false, typename Body>
void ForEachPlace(const int64_t* places,
                  int64_t count,
                  int64_t slices,
                  int64_t inner,
                  const Body& body) {
  SharePlaces(count, slices, inner, [&](int64_t begin, int64_t end) {
    for (int64_t n = 0; n < count; ++n) {
      const int64_t i = kDescending ? count - 1 - n : n;
      if (places[i] >= begin && places[i] < end) body(i, places[i]);
    }
  });
}

// Calls body(i, place, n) for runs of slices i to i + n whose places follow
// each other, in ascending order for each place.
template <typename Body>
void ForEachRun(const int64_t* places,
                int64_t count,
                int64_t slices,
                int64_t inner,
                const Body& body) {
  SharePlaces(count, slices, inner, [&](int64_t begin, int64_t end) {
    for (int64_t i = 0; i < count;) {
      const int64_t place = places[i];
      int64_t run = 1;
      if (place >= begin && place < end) {
        const int64_t most = std::min(count - i, end - place);
        while (run < most && places[i + run] == place + run) {
          ++run;
        }
        body(i, place, run);
      }
      i += run;
    }
  });
}

template <typename T, typename Formula>
void Reduce(const T* from,
            const int64_t* places,
            int64_t count,
            int64_t slices,
            int64_t inner,
            Computed<T>* out) {
  ForEachRun(places, count, slices, inner,
             [=](int64_t i, int64_t place, int64_t run) {
               const T* of = from + i * inner;
               Computed<T>* to = out + place * inner;
               for (int64_t k = 0; k < run * inner; ++k) {
                 to[k] = Formula()(to[k], Widen(of[k]));
               }
             });
}

// The arguments of ScatterReduceGrad; `values` and `more` are its scratch.
template <typename T>
struct ReductionGrad {
  using C = Computed<T>;
  bool include_self;
  const T* x;
  const T* from;
  const int64_t* places;
  int64_t count, slices, inner;
  const T* grad;
  C* values;
  C* more;
  T* x_grad;
  T* from_grad;

  // Calls body(j, at) for each element j of `from`, with its place in x.
  template <bool kDescending = false, typename Body>
  void ForEach(const Body& body) const {
    ForEachPlace<kDescending>(places, count, slices, inner,
                              [&](int64_t i, int64_t place) {
                                for (int64_t k = 0; k < inner; ++k) {
                                  body(i * inner + k, place * inner + k);
                                }
                              });
  }

  // Multiplies with the factors before each one and with those after it.
  void OfProduct() const {
    ForEach([&](int64_t, int64_t at) {
      values[at] = include_self ? Widen(x[at]) : C{1};
    });
    ForEach([&](int64_t j, int64_t at) {
      more[j] = values[at];
      values[at] *= Widen(from[j]);
    });
    ForEach([&](int64_t, int64_t at) { values[at] = 1; });
    ForEach<true>([&](int64_t j, int64_t at) {
      const C others = more[j] * values[at];
      if (from_grad != nullptr) {
        from_grad[j] = Narrow<T>(Widen(grad[at]) * others);
      }
      values[at] *= Widen(from[j]);
    });
    if (x_grad == nullptr) return;
    ForEach([&](int64_t, int64_t at) {
      x_grad[at] =
          Narrow<T>(include_self ? Widen(grad[at]) * values[at] : C{0});
    });
  }

  void OfExtreme(ScatterReduction reduction) const {
    const auto self = [this](int64_t at) {
      return include_self && Widen(x[at]) == values[at];
    };
    ForEach([&](int64_t, int64_t at) { values[at] = Widen(x[at]); });
    ScatterReduce(reduction, include_self, from, places, count, slices, inner,
                  values);
    ForEach([&](int64_t, int64_t at) { more[at] = self(at) ? 1 : 0; });
    ForEach([&](int64_t j, int64_t at) {
      if (Widen(from[j]) == values[at]) more[at] += 1;
    });
    ForEach([&](int64_t j, int64_t at) {
      const C part = Widen(grad[at]) / more[at];
      if (from_grad != nullptr) {
        from_grad[j] = Narrow<T>(Widen(from[j]) == values[at] ? part : C{0});
      }
      if (x_grad != nullptr) x_grad[at] = Narrow<T>(self(at) ? part : C{0});
    });
  }
};

}  // namespace

IndexPlan IndexPlanOf(const KernelQuery& query,
                      const DDim& x,
                      const DDim& index) {
  if (query.schema.FindAttr("axis") != nullptr) {
    return ElementsPlan(x, index, query.Attr<int64_t>("axis"));
  }
  const bool batches = query.schema.FindAttr("batch_dims") != nullptr;
  return NdPlan(
      x, index,
      batches ? static_cast<int>(query.Attr<int64_t>("batch_dims")) : 0);
}

ScatterReduction ScatterReductionOf(const KernelQuery& query) {
  const auto& name = query.Attr<std::string>("reduction");
  if (name == "add") return ScatterReduction::kAdd;
  if (name == "mul") return ScatterReduction::kMul;
  if (name == "max") return ScatterReduction::kMax;
  if (name == "min") return ScatterReduction::kMin;
  return ScatterReduction::kNone;
}

bool ScatterReplaces(const KernelQuery& query) {
  return ScatterReductionOf(query) == ScatterReduction::kNone ||
         !query.Attr<bool>("include_self");
}

namespace {

// Sets the places of `count` slices with one index each; the place of the first
// is `base` if its index is 0, those of the others `step` more each. Returns
// whether all indices are inside.
template <typename Index>
bool FindPlacesOfRow(const IndexPlan& plan,
                     const Index* index,
                     int64_t count,
                     int64_t base,
                     int64_t step,
                     int64_t* places) {
  // Without signs, as those of indices that are outside may overflow.
  const auto dim = static_cast<uint64_t>(plan.dims[0]);
  const auto dim_step = static_cast<uint64_t>(plan.dim_steps[0]);
  auto at = static_cast<uint64_t>(base);
  bool outside = false;
  for (int64_t i = 0; i < count; ++i, at += static_cast<uint64_t>(step)) {
    const auto given = static_cast<int64_t>(index[i]);
    const uint64_t value = static_cast<uint64_t>(given) + (given < 0 ? dim : 0);
    outside |= value >= dim;
    places[i] = static_cast<int64_t>(at + value * dim_step);
  }
  return !outside;
}

}  // namespace

template <typename Index>
int64_t FindPlaces(const IndexPlan& plan, const Index* index, int64_t* places) {
  constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  std::atomic<int64_t> first = kNone;
  ParallelFor(plan.count, kGrain, [&](int64_t begin, int64_t end) {
    int64_t outside = kNone;
    const int last = plan.rank - 1;
    const int64_t size = last < 0 ? 1 : plan.sizes[last];
    const int64_t step = last < 0 ? 0 : plan.steps[last];
    for (int64_t row = begin; row < end && outside == kNone;) {
      const int64_t row_end = std::min(row + size - row % size, end);
      int64_t base = plan.First(row);
      if (plan.named == 1 && FindPlacesOfRow(plan, index + row, row_end - row,
                                             base, step, places + row)) {
        row = row_end;
        continue;
      }
      for (; row < row_end && outside == kNone; ++row, base += step) {
        int64_t at = base;
        for (int k = 0; k < plan.named; ++k) {
          const int64_t position = row * plan.named + k;
          const int64_t value =
              IndexPlan::FromStart(index[position], plan.dims[k]);
          if (value < 0 || value >= plan.dims[k]) {
            outside = position;
            break;
          }
          at += value * plan.dim_steps[k];
        }
        places[row] = at;
      }
    }
    int64_t seen = first;
    while (outside < seen && !first.compare_exchange_weak(seen, outside)) {
    }
  });
  return first == kNone ? -1 : first.load();
}

void ScatterSlices(const void* from,
                   const int64_t* places,
                   int64_t count,
                   int64_t slices,
                   size_t slice_bytes,
                   void* out) {
  const auto* source = static_cast<const char*>(from);
  auto* target = static_cast<char*>(out);
  const auto scatter = [=]<int64_t kBytes>() {
    const auto bytes = kBytes > 0 ? kBytes : static_cast<int64_t>(slice_bytes);
    ForEachRun(places, count, slices, bytes,
               [=](int64_t i, int64_t place, int64_t run) {
                 char* to = target + place * bytes;
                 if (source == nullptr) {
                   std::memset(to, 0, static_cast<size_t>(run * bytes));
                 } else if (kBytes > 0 && run == 1) {  // without a call
                   std::memcpy(to, source + i * bytes, kBytes);
                 } else {
                   std::memcpy(to, source + i * bytes,
                               static_cast<size_t>(run * bytes));
                 }
               });
  };
  if (slice_bytes == 4) return scatter.operator()<4>();
  if (slice_bytes == 8) return scatter.operator()<8>();
  scatter.operator()<0>();
}

template <typename T>
void ScatterReduce(ScatterReduction reduction,
                   bool include_self,
                   const T* from,
                   const int64_t* places,
                   int64_t count,
                   int64_t slices,
                   int64_t inner,
                   Computed<T>* out) {
  if (!include_self) {
    const auto start = ScatterNeutral<Computed<T>>(reduction);
    ForEachPlace(places, count, slices, inner, [=](int64_t, int64_t place) {
      std::fill_n(out + place * inner, inner, start);
    });
  }
  if constexpr (std::is_floating_point_v<Computed<T>>) {
    const std::span rows(places, static_cast<size_t>(count));
    if (reduction == ScatterReduction::kAdd && RepeatsOften(rows, slices)) {
      return AddRowSums(from, rows, slices, inner, out);
    }
  }
  switch (reduction) {
    case ScatterReduction::kNone:
      return;
    case ScatterReduction::kAdd:
      return Reduce<T, ScatterAddition>(from, places, count, slices, inner,
                                        out);
    case ScatterReduction::kMul:
      return Reduce<T, ScatterProduct>(from, places, count, slices, inner, out);
    case ScatterReduction::kMax:
      return Reduce<T, ScatterLargest>(from, places, count, slices, inner, out);
    case ScatterReduction::kMin:
      return Reduce<T, ScatterSmallest>(from, places, count, slices, inner,
                                        out);
  }
}

template <typename T>
void ScatterReduceGrad(ScatterReduction reduction,
                       bool include_self,
                       const T* x,
                       const T* from,
                       const int64_t* places,
                       int64_t count,
                       int64_t slices,
                       int64_t inner,
                       const T* grad,
                       Computed<T>* scratch,
                       T* x_grad,
                       T* from_grad) {
  const ReductionGrad<T> all = {
      include_self, x,        from, places,  count,
      slices,       inner,    grad, scratch, scratch + slices * inner,
      x_grad,       from_grad};
  if (x_grad != nullptr) std::copy_n(grad, slices * inner, x_grad);
  if (reduction == ScatterReduction::kMul) {
    all.OfProduct();
  } else {
    all.OfExtreme(reduction);
  }
}

SLUICE_INSTANTIATE_INDICES(FindPlaces);
SLUICE_INSTANTIATE_FLOATS_AND_HALVES(ScatterReduceGrad);
SLUICE_INSTANTIATE_NUMBERS(ScatterReduce);

}  // namespace sluice
