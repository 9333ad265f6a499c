#include "sluice/operators/math/conv/volume_windows.h"

#include <algorithm>

#include "sluice/platform/dtype_sets.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

constexpr int64_t kPatchGrain = 16384;  // elements of patches

// The windows [first, last) for which element k is inside the volume, and the
// position `at` of that element for the first window.
struct Reach {
  int64_t first = 0;
  int64_t last = 0;
  int64_t at = 0;
};

Reach ReachOf(const VolumeAxis& axis, int64_t k) {
  const int64_t begin = k * axis.dilation - axis.pad;  // of window 0
  if (begin >= axis.in) return {};
  Reach reach;
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
  const Reach d = ReachOf(depth, kd), h = ReachOf(height, kh);
  const Reach w = ReachOf(width, kw);
  for (int64_t od = 0; od < depth.out; ++od) {
    for (int64_t oh = 0; oh < height.out; ++oh) {
      const int64_t patch = (od * height.out + oh) * width.out;
      if (od < d.first || od >= d.last || oh < h.first || oh >= h.last) {
        line(patch, int64_t{0}, Reach{});
        continue;
      }
      const int64_t id = d.at + (od - d.first) * depth.stride;
      const int64_t ih = h.at + (oh - h.first) * height.stride;
      line(patch, (id * height.in + ih) * width.in + w.at, w);
    }
  }
}

}  // namespace

template <typename T>
void LayPatches(const VolumeWindows& windows,
                int64_t channels,
                int64_t channel_stride,
                const T* volume,
                T* patches) {
  const int64_t taps = windows.kernel(), out = windows.out();
  const int64_t stride = windows.axes[2].stride, width = windows.axes[2].out;
  const int64_t grain =
      std::max<int64_t>(1, kPatchGrain / std::max<int64_t>(out, 1));
  ParallelFor(channels * taps, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const T* channel = volume + row / taps * channel_stride;
      T* const patch = patches + row * out;
      ForEachLine(windows, row % taps,
                  [&](int64_t to, int64_t from, const Reach& reach) {
                    T* const line = patch + to;
                    std::fill(line, line + reach.first, T{0});
                    for (int64_t i = reach.first; i < reach.last; ++i) {
                      line[i] = channel[from + (i - reach.first) * stride];
                    }
                    std::fill(line + reach.last, line + width, T{0});
                  });
    }
  });
}

template <typename T>
void AddPatches(const VolumeWindows& windows,
                int64_t channels,
                int64_t channel_stride,
                const T* patches,
                T* volume) {
  const int64_t taps = windows.kernel(), out = windows.out();
  const int64_t stride = windows.axes[2].stride;
  const int64_t grain =
      std::max<int64_t>(1, kPatchGrain / std::max<int64_t>(out * taps, 1));
  ParallelFor(channels, grain, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      T* const channel = volume + c * channel_stride;
      for (int64_t tap = 0; tap < taps; ++tap) {
        const T* const patch = patches + (c * taps + tap) * out;
        ForEachLine(
            windows, tap, [&](int64_t from, int64_t to, const Reach& reach) {
              for (int64_t i = reach.first; i < reach.last; ++i) {
                channel[to + (i - reach.first) * stride] += patch[from + i];
              }
            });
      }
    }
  });
}

// conv/lay_patches.h has another function of this name.
template SLUICE_API void LayPatches(
    const VolumeWindows&, int64_t, int64_t, const float*, float*);
template SLUICE_API void LayPatches(
    const VolumeWindows&, int64_t, int64_t, const double*, double*);
SLUICE_INSTANTIATE_FLOATS(AddPatches);

}  // namespace sluice
