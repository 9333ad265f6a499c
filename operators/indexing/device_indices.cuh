#pragma once

#include <algorithm>
#include <iterator>
#include <string>

#include "sluice/framework/op/op_kernel_context.h"
#include "sluice/operators/indexing/indexed_slices.h"
#include "sluice/operators/math/indexing/index_text.h"
#include "sluice/platform/cuda/data_check.h"
#include "sluice/platform/cuda/launch.h"

namespace sluice {

inline constexpr const char* kIndexedOps[] = {
    "gather_elements",       "gather_nd",
    "scatter_elements",      "scatter_nd",
    "gather_elements_grad",  "gather_nd_grad",
    "scatter_elements_grad", "scatter_nd_grad"};

template <int kOp>
void RaiseIndex(int64_t position, int64_t value, int64_t size) {
  Raise(ErrorCode::kOutOfRange, "indexing.range_on_device",
        "{}: element {} of input Index, {}, is outside of {}, the "
        "dim of input X that it is for",
        kIndexedOps[kOp], position, value, IndexRange(size));
}

// Returns the function that raises the error of `op`.
template <int kOp = 0>
RaiseOutside RaiseOutsideOf(const std::string& op) {
  if constexpr (kOp + 1 < std::size(kIndexedOps)) {
    if (op != kIndexedOps[kOp]) return RaiseOutsideOf<kOp + 1>(op);
  }
  return &RaiseIndex<kOp>;
}

// Indices in device memory, int32 or int64.
struct DeviceIndices {
  const void* data;
  bool wide;  // int64

  __device__ int64_t operator[](int64_t i) const {
    return wide ? static_cast<const int64_t*>(data)[i]
                : static_cast<const int32_t*>(data)[i];
  }
};

// The slices of X that Index names. Kernels receive it by value.
struct DevicePlaces {
  DevicePlaces(const OpKernelContext& context,
               const IndexPlan& of,
               RaiseOutside raise)
      : plan(of),
        index{context.Input(1).raw_data(),
              context.Input(1).dtype() == DType::kInt64},
        check(context.device_context<CUDADeviceContext>(),
              /*allowed=*/0,
              raise) {}

  // Returns slice i, or -1 if an index is out of range: `check` reports it.
  __device__ int64_t At(int64_t i) const {
    int64_t at = plan.First(i);
    for (int k = 0; k < plan.named; ++k) {
      const int64_t position = i * plan.named + k;
      const int64_t value = IndexPlan::FromStart(index[position], plan.dims[k]);
      DataCheck of_dim = check;
      of_dim.bound = plan.dims[k];
      if (!of_dim.Inside(position, value)) return -1;
      at += value * plan.dim_steps[k];
    }
    return at;
  }

  // Checks the indices for an op that moves no elements.
  void CheckOnly(const CUDADeviceContext& device) const {
    const DevicePlaces self = *this;
    ForEach(device, plan.count, [=] __device__(int64_t i) { self.At(i); });
  }

  IndexPlan plan;
  DeviceIndices index;
  DataCheck check;
};

// Combines out[places(i), :] and updates[i, :] by `reduction`, in the order of
// i. `missing` replaces the updates if there are none.
template <typename T>
struct DeviceScatter {
  DevicePlaces places;
  ScatterReduction reduction;
  const T* updates;
  T* out;
  T missing{0};
  int64_t shares = 1;

  __device__ T Combine(T old, T update) const {
    switch (reduction) {
      case ScatterReduction::kAdd:
        return ScatterAddition()(old, update);
      case ScatterReduction::kMul:
        return ScatterProduct()(old, update);
      case ScatterReduction::kMax:
        return ScatterLargest()(old, update);
      case ScatterReduction::kMin:
        return ScatterSmallest()(old, update);
      default:
        return update;
    }
  }

  // `shares` threads share each column of a line. The same thread always
  // updates a given element of `out`.
  __device__ void Apply(int64_t thread) const {
    const IndexPlan& plan = places.plan;
    const int64_t column = thread % plan.inner;
    const int64_t share = thread / plan.inner % shares;
    const int64_t line = thread / plan.inner / shares;
    for (int64_t j = 0; j < plan.length; ++j) {
      const int64_t i = plan.InLine(line, j);
      const int64_t place = places.At(i);
      if (place < 0 || place / plan.spread % shares != share) continue;
      const T update =
          updates == nullptr ? missing : updates[i * plan.inner + column];
      T& element = out[place * plan.inner + column];
      element = Combine(element, update);
    }
  }

  void Run(const CUDADeviceContext& device) const {
    constexpr int64_t kThreads = 4096, kMostShares = 64;
    const int64_t columns = places.plan.lines() * places.plan.inner;
    if (columns == 0) return;
    DeviceScatter self = *this;
    self.shares = std::clamp<int64_t>(kThreads / columns, 1, kMostShares);
    ForEach(device, columns * self.shares,
            [=] __device__(int64_t thread) { self.Apply(thread); });
  }
};

}  // namespace sluice
