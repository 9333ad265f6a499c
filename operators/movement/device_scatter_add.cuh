#pragma once

#include <algorithm>

#include "sluice/platform/cuda/data_check.h"
#include "sluice/platform/cuda/launch.h"

namespace sluice {

// out[o, s, :] = the sum of x[o, i, :] over all i with index[i] == s, in
// ascending order, or 0. x is [outer, count, inner], out [outer, size, inner].
// Nothing is added to row `skipped`. `check` reports indices outside of [0,
// size).
template <typename T, typename Index>
struct DeviceScatterAdd {
  const T* x;
  const Index* index;
  T* out;
  int64_t outer;
  int64_t size;
  int64_t count;
  int64_t inner;
  int64_t skipped = -1;
  bool from_end = false;  // negative indices count from the end

  __device__ int64_t Row(int64_t i) const {
    const auto row = static_cast<int64_t>(index[i]);
    return from_end && row < 0 && row >= -size ? row + size : row;
  }

  // This many threads share each column; the row modulo their number selects
  // one. The same thread always updates a given element of `out`.
  int64_t shares() const {
    constexpr int64_t kThreads = 4096, kMost = 64;
    return std::clamp<int64_t>(kThreads / (outer * inner), 1, kMost);
  }

  __device__ void Add(int64_t thread,
                      int64_t shares,
                      const DataCheck& check) const {
    const int64_t column = thread % inner;
    const int64_t share = thread / inner % shares;
    const int64_t o = thread / inner / shares;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t row = Row(i);
      if (!check.Inside(i, row)) continue;
      if (row % shares != share || row == skipped) continue;
      out[(o * size + row) * inner + column] +=
          x[(o * count + i) * inner + column];
    }
  }

  void Run(const CUDADeviceContext& device, const DataCheck& check) const {
    const DeviceScatterAdd self = *this;
    if (outer * inner == 0 || size == 0) {  // indices are still checked
      ForEach(device, count,
              [=] __device__(int64_t i) { check.Inside(i, self.Row(i)); });
      return;
    }
    FillZero(device, out,
             static_cast<size_t>(outer * size * inner) * sizeof(T));
    const int64_t parts = shares();
    ForEach(device, outer * parts * inner,
            [=] __device__(int64_t thread) { self.Add(thread, parts, check); });
  }
};

}  // namespace sluice
