#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "sluice/operators/math/device_walk.cuh"

namespace sluice {

inline constexpr int kSumThreads = 128;

// Returns to thread 0 the sum of the values of a block's threads. The order of
// summation depends on blockDim only. All threads have to call it.
template <typename Value>
__device__ Value SumOfBlock(Value value) {
  constexpr int kPart = 16;
  SLUICE_SHARED_ARRAY(Value, values, [kSumThreads]);
  SLUICE_SHARED_ARRAY(Value, parts, [kSumThreads / kPart]);
  const int thread = static_cast<int>(threadIdx.x);
  values[thread] = value;
  __syncthreads();
  if (thread < kSumThreads / kPart) {
    Value part = 0;
    for (int i = 0; i < kPart; ++i) {
      part += values[thread * kPart + i];
    }
    parts[thread] = part;
  }
  __syncthreads();
  Value sum = 0;
  if (thread == 0) {
    for (int i = 0; i < kSumThreads / kPart; ++i) {
      sum += parts[i];
    }
  }
  return sum;
}

// A plan for `outputs` sums of `terms` terms each. One thread computes a short
// sum, a block a long one, and several blocks a very long one. The plan and the
// bits of the sums depend on these two numbers only.
struct SumPlan {
  int64_t outputs = 0;
  int64_t terms = 0;
  bool blocks = false;
  int64_t chunks = 1;  // blocks for an output's terms

  SumPlan() = default;
  SumPlan(int64_t outputs, int64_t terms) : outputs(outputs), terms(terms) {
    constexpr int64_t kShort = 512, kManyOutputs = 4096;
    constexpr int64_t kChunk = 16384, kMostChunks = 256;
    blocks = terms > kShort && outputs < kManyOutputs;
    if (blocks) chunks = std::clamp<int64_t>(terms / kChunk, 1, kMostChunks);
  }

  // The scratch that Sum needs.
  size_t scratch_bytes() const {
    return chunks == 1 ? 0
                       : static_cast<size_t>(outputs * chunks) * sizeof(double);
  }
};

// Uses blocks of kSumThreads. Sum i is the sum of chunk i % chunks of output i
// / chunks.
template <typename Term, typename Store>
__global__ void SumInBlocksKernel(SumPlan plan, Term term, Store store) {
  const int64_t size = (plan.terms + plan.chunks - 1) / plan.chunks;
  for (int64_t i = blockIdx.x; i < plan.outputs * plan.chunks; i += gridDim.x) {
    const int64_t output = i / plan.chunks;
    const int64_t begin = i % plan.chunks * size;
    const int64_t end = min(begin + size, plan.terms);
    double sum = 0;
    for (int64_t j = begin + threadIdx.x; j < end; j += kSumThreads) {
      sum += term(output, j);
    }
    sum = SumOfBlock(sum);
    if (threadIdx.x == 0) store(i, sum);
  }
}

template <typename Term, typename Store>
__global__ void SumInThreadsKernel(SumPlan plan, Term term, Store store) {
  for (int64_t i = ThreadIndex(); i < plan.outputs; i += ThreadCount()) {
    double sum = 0;
    for (int64_t j = 0; j < plan.terms; ++j) {
      sum += term(i, j);
    }
    store(i, sum);
  }
}

// These write partial sums to scratch memory and read them.
struct KeepPartialSum {
  double* sums;
  __device__ void operator()(int64_t i, double sum) const { sums[i] = sum; }
};
struct PartialSum {
  const double* sums;
  int64_t chunks;
  __device__ double operator()(int64_t output, int64_t chunk) const {
    return sums[output * chunks + chunk];
  }
};

// Calls store(o, the sum of term(o, j) over all j) for each output o. Sums are
// in double. Both are device functions, passed by value.
template <typename Term, typename Store>
void Sum(const CUDADeviceContext& device,
         const SumPlan& plan,
         void* scratch,
         const Term& term,
         const Store& store) {
  if (plan.outputs == 0) return;
  if (!plan.blocks) {
    Launch<SumInThreadsKernel<Term, Store>>(
        {device, GridFor(plan.outputs), dim3(kThreadsPerBlock)}, plan, term,
        store);
    return;
  }
  const dim3 grid = GridFor(plan.outputs * plan.chunks, 1);
  if (plan.chunks == 1) {
    Launch<SumInBlocksKernel<Term, Store>>({device, grid, dim3(kSumThreads)},
                                           plan, term, store);
    return;
  }
  auto* partial = static_cast<double*>(scratch);
  Launch<SumInBlocksKernel<Term, KeepPartialSum>>(
      {device, grid, dim3(kSumThreads)}, plan, term, KeepPartialSum{partial});
  Launch<SumInThreadsKernel<PartialSum, Store>>(
      {device, GridFor(plan.outputs), dim3(kThreadsPerBlock)},
      SumPlan(plan.outputs, plan.chunks), PartialSum{partial, plan.chunks},
      store);
}

// Stores each sum times `factor`, rounded to T.
template <typename T>
struct StoreSum {
  T* out;
  double factor = 1;
  __device__ void operator()(int64_t i, double sum) const {
    out[i] = static_cast<T>(sum * factor);
  }
};

// The offset of term j of output o, for sums of a dense tensor of shape `x`
// over the axes with summed[axis] set.
struct ReduceWalk {
  using Axes = std::array<bool, DDim::kMaxRank>;

  ReduceWalk(const DDim& x, const Axes& summed)
      : kept(Part(x, summed, false)), terms(Part(x, summed, true)) {}

  static SumPlan Plan(const DDim& x, const Axes& summed) {
    int64_t outputs = 1, terms = 1;
    for (int axis = 0; axis < x.rank(); ++axis) {
      (summed[axis] ? terms : outputs) *= x[axis];
    }
    return {outputs, terms};
  }

  __device__ int64_t At(int64_t output, int64_t term) const {
    return kept.At(output).first + terms.At(term).first;
  }

  DeviceWalk kept;
  DeviceWalk terms;

 private:
  static DeviceWalk Part(const DDim& x, const Axes& summed, bool which) {
    DeviceWalk::Strides sizes{}, steps{};
    int axes = 0;
    for (int axis = 0; axis < x.rank(); ++axis) {
      if (summed[axis] != which) continue;
      sizes[axes] = x[axis];
      steps[axes++] = x.Product(axis + 1, x.rank());
    }
    return {axes, sizes, steps, steps};
  }
};

}  // namespace sluice
