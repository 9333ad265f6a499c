#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "sluice/operators/math/simd_parts-inl.h"
#include "sluice/operators/pool/pool2d.h"
#include "sluice/platform/cpu/simd_dispatch.h"
#include "sluice/platform/dtype_sets.h"
#include "sluice/platform/parallel_for.h"

#ifndef SLUICE_POOL2D_CHANNELS
#define SLUICE_POOL2D_CHANNELS
namespace sluice {

// A window of `rows` x `columns` pixels that begins at x and has at least one
// pixel, and its results.
template <typename T>
struct ChannelsWindow {
  const T* x;
  int64_t rows, columns;
  int64_t row_step, pixel_step;  // in elements
  int64_t channels;
  bool relu;
  T* out;
};

}  // namespace sluice
#endif

HWY_BEFORE_NAMESPACE();
namespace sluice {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Handles kVectors vectors of channels from `channel` on; unless kWhole, a
// partial vector.
template <int kVectors, bool kWhole, typename T>
HWY_INLINE void MaxOfVectors(const ChannelsWindow<T>& window, int64_t channel) {
  const Tag<T> d;
  const int64_t left = window.channels - channel;
  const auto load = [&](const T* p) HWY_ATTR {
    return kWhole ? hn::LoadU(d, p) : LoadPart(p, left, T{0});
  };
  V<T> best[kVectors];
  HWY_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) {
    best[v] = load(window.x + channel + v * kLanes<T>);
  }
  for (int64_t row = 0; row < window.rows; ++row) {
    const T* pixel = window.x + row * window.row_step + channel;
    for (int64_t i = 0; i < window.columns; ++i, pixel += window.pixel_step) {
      HWY_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) {
        const auto value = load(pixel + v * kLanes<T>);
        const auto wins = hn::Or(hn::Gt(value, best[v]), hn::IsNaN(value));
        best[v] = hn::IfThenElse(wins, value, best[v]);
      }
    }
  }
  T* out = window.out + channel;
  HWY_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) {
    if (window.relu) {
      best[v] =
          hn::IfThenElse(hn::Le(best[v], hn::Zero(d)), hn::Zero(d), best[v]);
    }
    StorePart<T>(best[v], out + v * kLanes<T>, left - v * kLanes<T>);
  }
}

template <typename T>
HWY_INLINE void MaxOfWindow(const ChannelsWindow<T>& window) {
  int64_t channel = 0;
  for (; channel + 4 * kLanes<T> <= window.channels; channel += 4 * kLanes<T>) {
    MaxOfVectors<4, true>(window, channel);
  }
  for (; channel + kLanes<T> <= window.channels; channel += kLanes<T>) {
    MaxOfVectors<1, true>(window, channel);
  }
  if (channel < window.channels) MaxOfVectors<1, false>(window, channel);
}

SLUICE_SIMD_FLOATS(MaxOfWindow);

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>

namespace sluice {
namespace {

SLUICE_EXPORT_FLOATS(MaxOfWindow);

constexpr int64_t kShardWork = int64_t{1} << 16;

}  // namespace

template <typename T>
void MaxOfChannels(const Pool2dGeometry& g, const T* x, T* out) {
  const auto run = MaxOfWindowFor<T>();
  const int64_t work = g.out_w * g.c * g.kernel_h * g.kernel_w;
  ParallelFor(
      g.n * g.out_h,
      std::max<int64_t>(kShardWork / std::max<int64_t>(work, 1), 1),
      [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t n = i / g.out_h;
          const int64_t top = i % g.out_h * g.stride_h - g.pad_top;
          const int64_t first_row = std::max<int64_t>(top, 0);
          const int64_t rows = std::min(top + g.kernel_h, g.in_h) - first_row;
          for (int64_t ow = 0; ow < g.out_w; ++ow) {
            const int64_t left = ow * g.stride_w - g.pad_left;
            const int64_t first = std::max<int64_t>(left, 0);
            run(ChannelsWindow<T>{
                x + ((n * g.in_h + first_row) * g.in_w + first) * g.c, rows,
                std::min(left + g.kernel_w, g.in_w) - first, g.in_w * g.c, g.c,
                g.c, g.relu, out + (i * g.out_w + ow) * g.c});
          }
        }
      });
}

SLUICE_INSTANTIATE_FLOATS(MaxOfChannels);

}  // namespace sluice
#endif  // HWY_ONCE
