#pragma once

#include <array>
#include <cstdint>

#include "sluice/platform/export.h"

namespace sluice {

// The windows along one axis of a volume: element k of window w is element w *
// stride + k * dilation - pad of the volume, if that exists.
struct VolumeAxis {
  int64_t in = 1;
  int64_t out = 1;  // windows
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t pad = 0;  // before the first element
};

// The axes depth, height and width; images have a depth of 1. The sizes are
// checked: the padded volume and each window fit into 64 bits.
struct VolumeWindows {
  std::array<VolumeAxis, 3> axes;

  int64_t in() const { return axes[0].in * axes[1].in * axes[2].in; }
  int64_t out() const { return axes[0].out * axes[1].out * axes[2].out; }
  int64_t kernel() const {
    return axes[0].kernel * axes[1].kernel * axes[2].kernel;
  }
  // Returns the windows of depth `w` only.
  VolumeWindows Slice(int64_t w) const {
    VolumeWindows slice = *this;
    slice.axes[0].pad -= w * slice.axes[0].stride;
    slice.axes[0].out = 1;
    return slice;
  }
};

// patches[kernel][window] = the elements of `channels` channels, zeros outside
// of the volume. Channels are outermost in both. Runs through ParallelFor.
template <typename T>
SLUICE_API void LayPatches(const VolumeWindows& windows,
                           int64_t channels,
                           int64_t channel_stride,
                           const T* volume,
                           T* patches);
// The reverse of LayPatches: adds the elements of the patches to the volume, in
// a fixed order.
template <typename T>
SLUICE_API void AddPatches(const VolumeWindows& windows,
                           int64_t channels,
                           int64_t channel_stride,
                           const T* patches,
                           T* volume);

}  // namespace sluice
