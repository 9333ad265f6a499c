#pragma once

#include <array>

#include "sluice/framework/values/ddim.h"
#include "sluice/platform/cuda/launch.h"

namespace sluice {

// Maps an index of a box, in row-major order, to its offsets in two buffers.
// Kernels receive it by value. Axes that are contiguous in both buffers are
// merged.
struct DeviceWalk {
  using Strides = std::array<int64_t, DDim::kMaxRank>;

  DeviceWalk(int axes,
             const Strides& box,
             const Strides& first_strides,
             const Strides& second_strides) {
    for (int axis = 0; axis < axes; ++axis) {
      Append(box[axis], first_strides[axis], second_strides[axis]);
    }
  }
  DeviceWalk(const DDim& dims,
             const Strides& first_strides,
             const Strides& second_strides) {
    for (int axis = 0; axis < dims.rank(); ++axis) {
      Append(dims[axis], first_strides[axis], second_strides[axis]);
    }
  }

  struct Position {
    int64_t first;
    int64_t second;
  };

  __device__ Position At(int64_t index) const {
    Position position{0, 0};
    for (int axis = rank - 1; axis > 0; --axis) {
      const int64_t rest = index / sizes[axis];
      const int64_t here = index - rest * sizes[axis];
      position.first += here * first[axis];
      position.second += here * second[axis];
      index = rest;
    }
    position.first += index * first[0];
    position.second += index * second[0];
    return position;
  }

  int rank = 0;
  int64_t sizes[DDim::kMaxRank] = {};
  int64_t first[DDim::kMaxRank] = {};
  int64_t second[DDim::kMaxRank] = {};

 private:
  void Append(int64_t size, int64_t first_stride, int64_t second_stride) {
    if (size == 1) return;
    if (rank > 0 && first[rank - 1] == first_stride * size &&
        second[rank - 1] == second_stride * size) {
      sizes[rank - 1] *= size;
      first[rank - 1] = first_stride;
      second[rank - 1] = second_stride;
      return;
    }
    sizes[rank] = size;
    first[rank] = first_stride;
    second[rank] = second_stride;
    ++rank;
  }
};

}  // namespace sluice
