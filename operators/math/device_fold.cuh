#pragma once

#include <cstddef>

#include "sluice/operators/math/device_sum.cuh"

// Reductions by the formulas of reduction_rows.inc. A thread computes each
// output; if there are few outputs of many terms, a block does.
namespace sluice {

template <typename Fold, typename T>
__global__ void FoldInThreadsKernel(SumPlan plan,
                                    ReduceWalk walk,
                                    const T* x,
                                    T* out) {
  for (int64_t i = ThreadIndex(); i < plan.outputs; i += ThreadCount()) {
    Fold fold;
    for (int64_t j = 0; j < plan.terms; ++j) {
      fold.Add(x[walk.At(i, j)]);
    }
    out[i] = fold.Result();
  }
}

template <typename Fold, typename T>
__global__ void FoldInBlocksKernel(SumPlan plan,
                                   ReduceWalk walk,
                                   const T* x,
                                   T* out) {
  // Shared arrays cannot have elements of a class with initializers.
  SLUICE_SHARED_ARRAY(double, memory,
                      [kSumThreads * sizeof(Fold) / sizeof(double)]);
  static_assert(sizeof(Fold) * kSumThreads % sizeof(double) == 0);
  auto* folds = reinterpret_cast<Fold*>(static_cast<double*>(memory));
  const int thread = static_cast<int>(threadIdx.x);
  for (int64_t i = blockIdx.x; i < plan.outputs; i += gridDim.x) {
    Fold fold;
    for (int64_t j = thread; j < plan.terms; j += kSumThreads) {
      fold.Add(x[walk.At(i, j)]);
    }
    folds[thread] = fold;
    __syncthreads();
    for (int half = kSumThreads / 2; half > 0; half /= 2) {
      if (thread < half) folds[thread].Merge(folds[thread + half]);
      __syncthreads();
    }
    if (thread == 0) out[i] = folds[0].Result();
    __syncthreads();
  }
}

// out[i] = the reduction of the terms of output i.
template <typename Fold, typename T>
void FoldAll(const CUDADeviceContext& device,
             const SumPlan& plan,
             const ReduceWalk& walk,
             const T* x,
             T* out) {
  if (plan.outputs == 0) return;
  if (plan.blocks) {
    Launch<FoldInBlocksKernel<Fold, T>>(
        {device, GridFor(plan.outputs, 1), dim3(kSumThreads)}, plan, walk, x,
        out);
  } else {
    Launch<FoldInThreadsKernel<Fold, T>>(
        {device, GridFor(plan.outputs), dim3(kThreadsPerBlock)}, plan, walk, x,
        out);
  }
}

}  // namespace sluice
