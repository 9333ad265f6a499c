#pragma once

#include "sluice/platform/cuda/launch.h"

// Row-wise work on CUDA: one thread computes a row, or a block if rows are
// long.
namespace sluice {

inline constexpr int kRowThreads = 128;

struct LargerOf {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};
struct SumOf {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};

// The threads that work on one row: each handles every kSize-th element.
template <bool kBlock>
struct RowTeam {
  static constexpr int kSize = kBlock ? kRowThreads : 1;

  __device__ static int64_t First() { return kBlock ? threadIdx.x : 0; }
  __device__ static bool Leads() { return !kBlock || threadIdx.x == 0; }

  // Combines the values of all threads, in a fixed order.
  template <typename T, typename Combine>
  __device__ static T All(T value, const Combine& combine) {
    if constexpr (kBlock) {
      constexpr int kPart = 16;
      SLUICE_SHARED_ARRAY(T, values, [kRowThreads]);
      SLUICE_SHARED_ARRAY(T, parts, [kRowThreads / kPart]);
      const int thread = static_cast<int>(threadIdx.x);
      values[thread] = value;
      __syncthreads();
      if (thread < kRowThreads / kPart) {
        T part = values[thread * kPart];
        for (int i = 1; i < kPart; ++i) {
          part = combine(part, values[thread * kPart + i]);
        }
        parts[thread] = part;
      }
      __syncthreads();
      value = parts[0];
      for (int i = 1; i < kRowThreads / kPart; ++i) {
        value = combine(value, parts[i]);
      }
    }
    return value;
  }
};

// Calls body(team, row) for each of `rows` rows of `size` elements.
template <bool kBlock, typename Body>
__global__ void ForEachRowKernel(int64_t rows, Body body) {
  const int64_t step = kBlock ? gridDim.x : ThreadCount();
  for (int64_t row = kBlock ? blockIdx.x : ThreadIndex(); row < rows;
       row += step) {
    body(RowTeam<kBlock>(), row);
  }
}

template <typename Body>
void ForEachRow(const CUDADeviceContext& device,
                int64_t rows,
                int64_t size,
                const Body& body) {
  constexpr int64_t kShort = 128;
  if (rows == 0) return;
  if (size > kShort) {
    Launch<ForEachRowKernel<true, Body>>(
        {device, GridFor(rows, 1), dim3(kRowThreads)}, rows, body);
  } else {
    Launch<ForEachRowKernel<false, Body>>(
        {device, GridFor(rows), dim3(kThreadsPerBlock)}, rows, body);
  }
}

}  // namespace sluice
