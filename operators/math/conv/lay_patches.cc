#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "sluice/operators/math/conv/im2col.h"
#include "sluice/platform/cpu/simd_dispatch.h"
#include "sluice/platform/dtype_sets.h"

HWY_BEFORE_NAMESPACE();
namespace sluice {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Writes row kh of `count` consecutive windows by interleaving their kernel_w
// columns, which are `step` elements apart in the patches.
template <typename T>
HWY_INLINE void LayRow(int64_t kernel_w,
                       int64_t count,
                       int64_t step,
                       const T* from,
                       T bias,
                       T* to) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = hn::MaxLanes(d);
  const auto add = hn::Set(d, bias);
  const auto column = [&](int64_t kw, int64_t i) {
    return hn::Add(hn::LoadU(d, from + kw * step + i), add);
  };
  int64_t i = 0;
  switch (kernel_w) {
    case 1:
      for (; i + kLanes <= count; i += kLanes) {
        hn::StoreU(column(0, i), d, to + i);
      }
      break;
    case 2:
      for (; i + kLanes <= count; i += kLanes) {
        hn::StoreInterleaved2(column(0, i), column(1, i), d, to + 2 * i);
      }
      break;
    case 3:
      for (; i + kLanes <= count; i += kLanes) {
        hn::StoreInterleaved3(column(0, i), column(1, i), column(2, i), d,
                              to + 3 * i);
      }
      break;
    case 4:
      for (; i + kLanes <= count; i += kLanes) {
        hn::StoreInterleaved4(column(0, i), column(1, i), column(2, i),
                              column(3, i), d, to + 4 * i);
      }
      break;
    default:
      break;
  }
  for (int64_t kw = 0; kw < kernel_w; ++kw) {
    for (int64_t j = i; j < count; ++j) {
      to[j * kernel_w + kw] = from[kw * step + j] + bias;
    }
  }
}

template <typename T>
HWY_NOINLINE void Lay(const Conv2dGeometry& g,
                      const Conv2dTile& tile,
                      int64_t group,
                      const T* patches,
                      const T* bias,
                      T* input) {
  const int64_t channels = g.group_in_c(), windows = tile.windows();
  for (int64_t c = 0; c < channels; ++c) {
    const T add = bias == nullptr ? T{0} : bias[c];
    const T* of_channel = patches + c * g.kernel_h * g.kernel_w * windows;
    for (int64_t i = 0; i < tile.images; ++i) {
      T* const plane =
          input +
          ((tile.image + i) * g.in_c + group * channels + c) * g.in_pixels();
      for (int64_t y = 0; y < tile.rows; ++y) {
        const T* from = of_channel + i * tile.pixels() + y * tile.columns;
        T* to = plane + (tile.row + y) * g.stride_h * g.in_w +
                tile.column * g.stride_w;
        for (int64_t kh = 0; kh < g.kernel_h; ++kh) {
          LayRow(g.kernel_w, tile.columns, windows,
                 from + kh * g.kernel_w * windows, add, to + kh * g.in_w);
        }
      }
    }
  }
}

SLUICE_SIMD_FLOATS(Lay);

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice {
namespace {

SLUICE_EXPORT_FLOATS(Lay);

}  // namespace

template <typename T>
void LayPatches(const Conv2dGeometry& g,
                const Conv2dTile& tile,
                int64_t group,
                const T* patches,
                const T* bias,
                T* input) {
  LayFor<T>()(g, tile, group, patches, bias, input);
}
SLUICE_INSTANTIATE_FLOATS(LayPatches);

}  // namespace sluice
#endif  // HWY_ONCE
