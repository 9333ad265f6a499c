#include "sluice/operators/math/indexing/indexed_slices.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>

#include "sluice/platform/dtype_sets.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

// Calls body(i, place) for each i in [0, count), in ascending order for each
// place. Each shard owns some places and searches all of `places` for them.
template <typename Body>
void ForEachPlace(const int64_t* places,
                  int64_t count,
                  int64_t slices,
                  int64_t inner,
                  const Body& body) {
  const int64_t work = count * std::max<int64_t>(inner, 1);
  const int64_t shards = std::max<int64_t>(work / kGrain, 1);
  const auto own = [&](int64_t begin, int64_t end) {
    for (int64_t i = 0; i < count; ++i) {
      if (places[i] >= begin && places[i] < end) {
        body(i, places[i]);
      }
    }
  };
  ParallelFor(slices, (slices - 1) / shards + 1, own);
}

template <typename T, typename Formula>
void Reduce(const T* from,
            const int64_t* places,
            int64_t count,
            int64_t slices,
            int64_t inner,
            Computed<T>* out) {
  ForEachPlace(places, count, slices, inner, [=](int64_t i, int64_t place) {
    const T* of = from + i * inner;
    Computed<T>* to = out + place * inner;
    for (int64_t k = 0; k < inner; ++k) {
      to[k] = Formula()(to[k], Widen(of[k]));
    }
  });
}

}  // namespace

template <typename Index>
int64_t FindPlaces(const IndexPlan& plan, const Index* index, int64_t* places) {
  constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  std::atomic<int64_t> first = kNone;
  ParallelFor(plan.count, kGrain, [&](int64_t begin, int64_t end) {
    int64_t outside = kNone;
    for (int64_t i = begin; i < end && outside == kNone; ++i) {
      int64_t at = plan.First(i);
      for (int k = 0; k < plan.named; ++k) {
        const int64_t position = i * plan.named + k;
        const int64_t value =
            IndexPlan::FromStart(index[position], plan.dims[k]);
        if (value < 0 || value >= plan.dims[k]) {
          outside = position;
          break;
        }
        at += value * plan.dim_steps[k];
      }
      places[i] = at;
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
  const auto bytes = static_cast<int64_t>(slice_bytes);
  ForEachPlace(places, count, slices, bytes, [=](int64_t i, int64_t place) {
    char* to = target + place * bytes;
    if (source == nullptr) {
      std::memset(to, 0, slice_bytes);
    } else {
      std::memcpy(to, source + i * bytes, slice_bytes);
    }
  });
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

SLUICE_INSTANTIATE_INDICES(FindPlaces);
SLUICE_INSTANTIATE_NUMBERS(ScatterReduce);

}  // namespace sluice
