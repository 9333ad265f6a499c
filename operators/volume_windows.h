#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "sluice/framework/op/op_kernel.h"
#include "sluice/platform/parallel_for.h"

// Windows that slide over volumes, or over images, which are volumes of depth
// 1: their sizes, and the elements under them as matrices. For the kernels that
// take the rank as it comes; the fast ones for images have loops of their own
// (im2col.h, pool2d.h).
namespace sluice {

// The windows along one axis: element k of window w is element w * stride + k *
// dilation - pad_before of the volume, if that exists.
struct VolumeAxis {
  int64_t in = 1;   // elements of the volume
  int64_t out = 1;  // windows
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t pad_before = 0;
  int64_t pad_after = 0;
};

// The axes depth, height and width. The sizes are checked: the padded volume
// and each window fit into 64 bits.
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
    slice.axes[0].pad_before -= w * slice.axes[0].stride;
    slice.axes[0].out = 1;
    return slice;
  }
};

// Returns the windows of sizes `kernel`, two or three, over the axes of
// `volume` from `first` on, by the attributes strides, paddings and dilations.
// The last windows end inside the padding.
inline VolumeWindows WindowsOver(const KernelQuery& query,
                                 const DDim& volume,
                                 std::span<const int64_t> kernel,
                                 int first = 2) {
  using Sizes = std::vector<int64_t>;
  const auto& strides = query.Attr<Sizes>("strides");
  const auto& paddings = query.Attr<Sizes>("paddings");
  const auto& dilations = query.Attr<Sizes>("dilations");
  const size_t dims = kernel.size();
  const bool both = paddings.size() == 2 * dims;
  VolumeWindows windows;
  for (size_t i = 0; i < dims; ++i) {
    VolumeAxis& axis = windows.axes[3 - dims + i];
    axis.in = volume[first + static_cast<int>(i)];
    axis.kernel = kernel[i];
    axis.stride = strides[i];
    axis.dilation = dilations[i];
    axis.pad_before = paddings[both ? 2 * i : i];
    axis.pad_after = paddings[both ? 2 * i + 1 : i];
    const int64_t last = axis.pad_before + axis.in + axis.pad_after - 1 -
                         (axis.kernel - 1) * axis.dilation;
    axis.out = last / axis.stride + 1;
  }
  return windows;
}

// The windows [first, last) for which element k is inside the volume, and the
// position `at` of that element for the first window.
struct WindowReach {
  int64_t first = 0;
  int64_t last = 0;
  int64_t at = 0;
};

inline WindowReach ReachOf(const VolumeAxis& axis, int64_t k) {
  const int64_t begin = k * axis.dilation - axis.pad_before;  // of window 0
  if (begin >= axis.in) return {};
  WindowReach reach;
  reach.first = begin >= 0 ? 0 : (-begin - 1) / axis.stride + 1;
  if (reach.first >= axis.out) return {};
  reach.at = begin + reach.first * axis.stride;
  if (reach.at >= axis.in) return {};
  const int64_t more = (axis.in - 1 - reach.at) / axis.stride;
  reach.last = std::min(axis.out, reach.first + more + 1);
  return reach;
}

// Calls line(patch, volume, width) for each row of windows and element `tap` of
// the kernel: the row's offset in its patch, the offset of its first element
// inside, and the reach along the width. Rows outside have an empty reach.
template <typename Line>
void ForEachLine(const VolumeWindows& windows, int64_t tap, const Line& line) {
  const auto& [depth, height, width] = windows.axes;
  const int64_t kw = tap % width.kernel;
  const int64_t kh = tap / width.kernel % height.kernel;
  const int64_t kd = tap / width.kernel / height.kernel;
  const WindowReach d = ReachOf(depth, kd), h = ReachOf(height, kh);
  const WindowReach w = ReachOf(width, kw);
  for (int64_t od = 0; od < depth.out; ++od) {
    for (int64_t oh = 0; oh < height.out; ++oh) {
      const int64_t patch = (od * height.out + oh) * width.out;
      if (od < d.first || od >= d.last || oh < h.first || oh >= h.last) {
        line(patch, int64_t{0}, WindowReach{});
        continue;
      }
      const int64_t id = d.at + (od - d.first) * depth.stride;
      const int64_t ih = h.at + (oh - h.first) * height.stride;
      line(patch, (id * height.in + ih) * width.in + w.at, w);
    }
  }
}

inline constexpr int64_t kPatchGrain = 16384;  // elements of patches

// patches[channel][kernel][window] = the elements of `channels` channels, which
// are `stride` elements apart in `volume`; zeros outside of it. Runs through
// ParallelFor.
template <typename T>
void GatherPatches(const VolumeWindows& windows,
                   int64_t channels,
                   int64_t stride,
                   const T* volume,
                   T* patches) {
  const int64_t taps = windows.kernel(), out = windows.out();
  const int64_t step = windows.axes[2].stride, width = windows.axes[2].out;
  const int64_t grain = std::max<int64_t>(1, kPatchGrain / out);
  ParallelFor(channels * taps, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const T* channel = volume + row / taps * stride;
      T* const patch = patches + row * out;
      ForEachLine(windows, row % taps,
                  [&](int64_t to, int64_t from, const WindowReach& reach) {
                    T* const line = patch + to;
                    const T* const inside = channel + from;
                    const int64_t count = reach.last - reach.first;
                    std::fill(line, line + reach.first, T{0});
                    if (step == 1) {
                      std::copy_n(inside, count, line + reach.first);
                    } else {
                      for (int64_t i = 0; i < count; ++i) {
                        line[reach.first + i] = inside[i * step];
                      }
                    }
                    std::fill(line + reach.last, line + width, T{0});
                  });
    }
  });
}

// The reverse of GatherPatches for one channel: adds value(element) of its
// patches to `channel`, in a fixed order.
template <typename T, typename Sum, typename Value>
void AddPatches(const VolumeWindows& windows,
                const T* patches,
                const Value& value,
                Sum* channel) {
  const int64_t step = windows.axes[2].stride;
  for (int64_t tap = 0; tap < windows.kernel(); ++tap) {
    const T* const patch = patches + tap * windows.out();
    ForEachLine(
        windows, tap, [&](int64_t from, int64_t to, const WindowReach& reach) {
          for (int64_t i = reach.first; i < reach.last; ++i) {
            channel[to + (i - reach.first) * step] += value(patch[from + i]);
          }
        });
  }
}

}  // namespace sluice
