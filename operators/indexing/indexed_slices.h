#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "sluice/framework/op/op_kernel.h"
#include "sluice/framework/values/ddim.h"
#include "sluice/operators/math/half_conversions.h"
#include "sluice/platform/export.h"

// The slices of a tensor X that indices name: gather and scatter by elements
// and by coordinates have different plans. Plans and reductions are shared by
// host and device code; the loops are for host memory, through ParallelFor.
namespace sluice {

// Names `count` slices of X, which is [slices, inner]. Slice i has `named`
// indices from i * named on; index k is for a dim of X of size dims[k]. The
// rest follows from i as an index into a tensor of shape `sizes`.
struct IndexPlan {
  static constexpr int kMaxRank = DDim::kMaxRank;

  int64_t count = 0;
  int64_t slices = 0;
  int64_t inner = 1;
  // Steps are in slices of X.
  int named = 0;
  int64_t dims[kMaxRank] = {};
  int64_t dim_steps[kMaxRank] = {};
  int rank = 0;
  int64_t sizes[kMaxRank] = {};
  int64_t steps[kMaxRank] = {};
  // Only slices of the same line may be the same slice of X. Slice j of a line
  // is (line / within * length + j) * within + line % within. In a line,
  // numbers of slices of X differ by multiples of `spread`.
  int64_t length = 0;
  int64_t within = 1;
  int64_t spread = 1;

  constexpr int64_t lines() const { return length == 0 ? 0 : count / length; }
  constexpr int64_t InLine(int64_t line, int64_t j) const {
    return (line / within * length + j) * within + line % within;
  }

  // Returns the slice of X for slice i if all its indices were 0. Each index
  // times its step in `dim_steps` is added to it.
  constexpr int64_t First(int64_t i) const {
    int64_t at = 0, rest = i;
    for (int axis = rank - 1; axis >= 0; --axis) {
      at += rest % sizes[axis] * steps[axis];
      rest /= sizes[axis];
    }
    return at;
  }
  // Negative indices count from the end. An index that is out of range stays
  // so.
  static constexpr int64_t FromStart(int64_t index, int64_t size) {
    return index < 0 && index >= -size ? index + size : index;
  }
};

// How scatters combine an element and an update, on the host and on devices.
enum class ScatterReduction : uint8_t { kNone, kAdd, kMul, kMax, kMin };

// Returns the neutral element: it leaves an update unchanged.
template <typename T>
constexpr T ScatterNeutral(ScatterReduction reduction) {
  using Limits = std::numeric_limits<T>;
  constexpr bool kInfinite = Limits::has_infinity;
  switch (reduction) {
    case ScatterReduction::kMul:
      return T{1};
    case ScatterReduction::kMax:
      return kInfinite ? -Limits::infinity() : Limits::lowest();
    case ScatterReduction::kMin:
      return kInfinite ? Limits::infinity() : Limits::max();
    default:
      return T{0};
  }
}

// Adds; integers are modulo a power of 2.
struct ScatterAddition {
  template <typename T>
  constexpr T operator()(T old, T update) const {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<uint64_t>(old) +
                            static_cast<uint64_t>(update));
    } else {
      return old + update;
    }
  }
};

struct ScatterProduct {
  template <typename T>
  constexpr T operator()(T old, T update) const {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<uint64_t>(old) *
                            static_cast<uint64_t>(update));
    } else {
      return old * update;
    }
  }
};

// Returns NaN if either of the two is NaN.
struct ScatterLargest {
  template <typename T>
  constexpr T operator()(T old, T update) const {
    if (update > old) return update;
    // If both comparisons are false, one is NaN, and so is the sum.
    return update <= old ? old : static_cast<T>(old + update);
  }
};

struct ScatterSmallest {
  template <typename T>
  constexpr T operator()(T old, T update) const {
    if (update < old) return update;
    return update >= old ? old : static_cast<T>(old + update);
  }
};

// Returns how input Index of an op names slices of a tensor of shape `x`: by
// elements along attribute axis, or by coordinates of the dims after the first
// batch_dims. The shape function has already checked both shapes.
SLUICE_API IndexPlan IndexPlanOf(const KernelQuery& query,
                                 const DDim& x,
                                 const DDim& index);

// Returns attribute reduction.
SLUICE_API ScatterReduction ScatterReductionOf(const KernelQuery& query);

// Whether the elements of X that have an update do not count in Out.
SLUICE_API bool ScatterReplaces(const KernelQuery& query);

// places[i] = the slice of X for slice i of `plan`. Returns the position of the
// first index that is out of range, or -1. Index: int32_t or int64_t.
template <typename Index>
SLUICE_API int64_t FindPlaces(const IndexPlan& plan,
                              const Index* index,
                              int64_t* places);

// out[places[i], :] = from[i, :] for each i in [0, count), in this order, or 0
// if `from` is nullptr. `out` has `slices` slices.
SLUICE_API void ScatterSlices(const void* from,
                              const int64_t* places,
                              int64_t count,
                              int64_t slices,
                              size_t slice_bytes,
                              void* out);

// Combines out[places[i], :] and from[i, :] by `reduction`, in the order of i,
// but for sums of floats at a place that repeats often (RepeatsOften); the bits
// do not depend on the number of threads. Without `include_self`, only the
// slices of `from` are combined. Integers wrap around; NaN wins in minimum and
// maximum. T: every dtype but bool; float16 and bfloat16 are computed in float.
// `reduction` is not kNone.
template <typename T>
SLUICE_API void ScatterReduce(ScatterReduction reduction,
                              bool include_self,
                              const T* from,
                              const int64_t* places,
                              int64_t count,
                              int64_t slices,
                              int64_t inner,
                              Computed<T>* out);

// The gradients of ScatterReduce with kMul, kMax or kMin, from those of `out`:
// of x, which it began with, and of `from`; either may be nullptr. `scratch`
// has room for the elements of x, and for those of x or `from` once more.
template <typename T>
SLUICE_API void ScatterReduceGrad(ScatterReduction reduction,
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
                                  T* from_grad);

}  // namespace sluice
