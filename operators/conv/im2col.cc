#include "sluice/operators/conv/im2col.h"

#include <algorithm>

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "sluice/platform/cpu/simd_dispatch.h"
#include "sluice/platform/dtype_sets.h"

HWY_BEFORE_NAMESPACE();
namespace sluice {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The operation on the elements of a patch and of the input. `step` is the
// stride in the input. Zero handles elements in the padding.
template <typename T>
struct Gather {
  using Patch = T;
  using Input = const T;

  static HWY_INLINE void Move(int64_t count, T* patch, const T* input) {
    const hn::ScalableTag<T> d;
    constexpr int64_t kLanes = hn::MaxLanes(d);
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      hn::StoreU(hn::LoadU(d, input + i), d, patch + i);
    }
#if HWY_TARGET <= HWY_AVX2
    if (i < count) {
      const auto mask = hn::FirstN(d, static_cast<size_t>(count - i));
      hn::BlendedStore(hn::MaskedLoad(mask, d, input + i), mask, d, patch + i);
    }
#else
    for (; i < count; ++i) {
      patch[i] = input[i];
    }
#endif
  }
  // Copies `rows` runs of `count` elements, `step` apart in the input.
  static HWY_INLINE void MoveRows(
      int64_t rows, int64_t count, T* patch, const T* input, int64_t step) {
#if HWY_TARGET <= HWY_AVX2
    const hn::ScalableTag<T> d;
    if (count <= static_cast<int64_t>(hn::MaxLanes(d))) {
      const auto mask = hn::FirstN(d, static_cast<size_t>(count));
      for (int64_t i = 0; i < rows; ++i, patch += count, input += step) {
        hn::BlendedStore(hn::MaskedLoad(mask, d, input), mask, d, patch);
      }
      return;
    }
#endif
    for (int64_t i = 0; i < rows; ++i, patch += count, input += step) {
      Move(count, patch, input);
    }
  }
  static HWY_INLINE void MoveStrided(int64_t count,
                                     T* patch,
                                     const T* input,
                                     int64_t step) {
    for (int64_t i = 0; i < count; ++i) {
      patch[i] = input[i * step];
    }
  }
  static HWY_INLINE void Zero(int64_t count, T* patch) {
    for (int64_t i = 0; i < count; ++i) {
      patch[i] = T{0};
    }
  }
};

// Uses no masks: values stored with a mask cannot be loaded again at once.
template <class D, typename T>
HWY_INLINE int64_t
AddVectors(D d, int64_t i, int64_t count, const T* from, T* to) {
  constexpr int64_t kLanes = hn::MaxLanes(d);
  for (; i + kLanes <= count; i += kLanes) {
    hn::StoreU(hn::Add(hn::LoadU(d, to + i), hn::LoadU(d, from + i)), d,
               to + i);
  }
  return i;
}

template <typename T>
struct Scatter {
  using Patch = const T;
  using Input = T;

  static HWY_INLINE void Move(int64_t count, const T* patch, T* input) {
    int64_t i = AddVectors(hn::ScalableTag<T>(), 0, count, patch, input);
    i = AddVectors(hn::CappedTag<T, 32 / sizeof(T)>(), i, count, patch, input);
    i = AddVectors(hn::CappedTag<T, 16 / sizeof(T)>(), i, count, patch, input);
    for (; i < count; ++i) {
      input[i] += patch[i];
    }
  }
  static HWY_INLINE void MoveRows(
      int64_t rows, int64_t count, const T* patch, T* input, int64_t step) {
    for (int64_t i = 0; i < rows; ++i, patch += count, input += step) {
      Move(count, patch, input);
    }
  }
  static HWY_INLINE void MoveStrided(int64_t count,
                                     const T* patch,
                                     T* input,
                                     int64_t step) {
    for (int64_t i = 0; i < count; ++i) {
      input[i * step] += patch[i];
    }
  }
  static HWY_INLINE void Zero(int64_t /*count*/, const T* /*patch*/) {}
};

// Handles one channels-last patch: for each kh, a run of kernel_w * c elements.
// `image` begins at the group's first channel. The patch's first pixel (h, w)
// may be in the padding.
template <typename Do>
HWY_INLINE void LastPatch(const Conv2dGeometry& g,
                          int64_t h,
                          int64_t w,
                          typename Do::Input* image,
                          typename Do::Patch* patch) {
  const int64_t c = g.group_in_c();
  const int64_t run = g.kernel_w * c;
  const int64_t reach = (g.kernel_w - 1) * g.dilation_w;
  const bool inside = w >= 0 && w + reach < g.in_w;
  const bool whole =
      inside && (g.kernel_w == 1 || (g.dilation_w == 1 && g.groups == 1));
  for (int64_t kh = 0; kh < g.kernel_h; ++kh, patch += run) {
    const int64_t row = h + kh * g.dilation_h;
    if (row < 0 || row >= g.in_h) {
      Do::Zero(run, patch);
      continue;
    }
    typename Do::Input* from = image + row * g.in_w * g.in_c;
    if (whole) {
      Do::Move(run, patch, from + w * g.in_c);
      continue;
    }
    for (int64_t kw = 0; kw < g.kernel_w; ++kw) {
      const int64_t column = w + kw * g.dilation_w;
      if (column < 0 || column >= g.in_w) {
        Do::Zero(c, patch + kw * c);
      } else {
        Do::Move(c, patch + kw * c, from + column * g.in_c);
      }
    }
  }
}

template <typename Do>
HWY_NOINLINE void LastPatches(const Conv2dGeometry& g,
                              const Conv2dTile& tile,
                              int64_t group,
                              typename Do::Input* input,
                              typename Do::Patch* patches) {
  const int64_t patch = g.patch();
  for (int64_t i = 0; i < tile.images; ++i) {
    typename Do::Input* image = input +
                                (tile.image + i) * g.in_pixels() * g.in_c +
                                group * g.group_in_c();
    for (int64_t y = tile.row; y < tile.row + tile.rows; ++y) {
      const int64_t h = y * g.stride_h - g.pad_top;
      for (int64_t x = tile.column; x < tile.column + tile.columns; ++x) {
        LastPatch<Do>(g, h, x * g.stride_w - g.pad_left, image, patches);
        patches += patch;
      }
    }
  }
}

// The windows [begin, end) of a row of a tile for which column kw of the filter
// is inside the input.
struct Inside {
  HWY_INLINE Inside(const Conv2dGeometry& g, const Conv2dTile& tile, int64_t kw)
      : shift(kw * g.dilation_w - g.pad_left) {
    const int64_t last = tile.column + tile.columns;
    begin = shift >= 0 ? 0 : (-shift - 1) / g.stride_w + 1;
    end = g.in_w > shift ? (g.in_w - shift - 1) / g.stride_w + 1 : 0;
    begin = HWY_MIN(HWY_MAX(begin, tile.column), last);
    end = HWY_MIN(HWY_MAX(end, begin), last);
  }
  int64_t shift, begin, end;
};

// Handles element (kh, kw) of one channel for the windows of one image.
template <typename Do>
HWY_INLINE void FirstRows(const Conv2dGeometry& g,
                          const Conv2dTile& tile,
                          const Inside& inside,
                          int64_t kh,
                          typename Do::Input* plane,
                          typename Do::Patch* to) {
  const int64_t before = inside.begin - tile.column;
  const int64_t count = inside.end - inside.begin;
  plane += inside.shift + inside.begin * g.stride_w;
  const int64_t first = tile.row * g.stride_h + kh * g.dilation_h - g.pad_top;
  const int64_t last = first + (tile.rows - 1) * g.stride_h;
  if (count == tile.columns && g.stride_w == 1 && first >= 0 && last < g.in_h) {
    // With one row the stride is not used and may be any number.
    const int64_t step = tile.rows > 1 ? g.stride_h * g.in_w : 0;
    Do::MoveRows(tile.rows, count, to, plane + first * g.in_w, step);
    return;
  }
  for (int64_t y = tile.row; y < tile.row + tile.rows; ++y) {
    const int64_t row = y * g.stride_h + kh * g.dilation_h - g.pad_top;
    if (row < 0 || row >= g.in_h || count == 0) {
      Do::Zero(tile.columns, to);
    } else {
      Do::Zero(before, to);
      if (g.stride_w == 1) {
        Do::Move(count, to + before, plane + row * g.in_w);
      } else {
        Do::MoveStrided(count, to + before, plane + row * g.in_w, g.stride_w);
      }
      Do::Zero(tile.columns - before - count, to + before + count);
    }
    to += tile.columns;
  }
}

template <typename Do>
HWY_NOINLINE void FirstPatches(const Conv2dGeometry& g,
                               const Conv2dTile& tile,
                               int64_t group,
                               typename Do::Input* input,
                               typename Do::Patch* patches) {
  const int64_t channels = g.group_in_c(), pixels = tile.pixels();
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t kh = 0; kh < g.kernel_h; ++kh) {
      for (int64_t kw = 0; kw < g.kernel_w; ++kw) {
        const Inside inside(g, tile, kw);
        for (int64_t i = 0; i < tile.images; ++i) {
          const int64_t plane =
              (tile.image + i) * g.in_c + group * channels + c;
          FirstRows<Do>(g, tile, inside, kh, input + plane * g.in_pixels(),
                        patches);
          patches += pixels;
        }
      }
    }
  }
}

template <typename Do>
HWY_INLINE void Patches(const Conv2dGeometry& g,
                        const Conv2dTile& tile,
                        int64_t group,
                        typename Do::Input* input,
                        typename Do::Patch* patches) {
  if (WindowsLast(g)) {
    FirstPatches<Do>(g, tile, group, input, patches);
  } else {
    LastPatches<Do>(g, tile, group, input, patches);
  }
}

template <typename T>
void Gathered(const Conv2dGeometry& g,
              const Conv2dTile& tile,
              int64_t group,
              const T* input,
              T* patches) {
  Patches<Gather<T>>(g, tile, group, input, patches);
}
template <typename T>
void Scattered(const Conv2dGeometry& g,
               const Conv2dTile& tile,
               int64_t group,
               const T* patches,
               T* input_grad) {
  Patches<Scatter<T>>(g, tile, group, input_grad, patches);
}

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

SLUICE_SIMD_FLOATS(Gathered);
SLUICE_SIMD_FLOATS(Scattered);
SLUICE_SIMD_FLOATS(Lay);

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice {
namespace {

SLUICE_EXPORT_FLOATS(Gathered);
SLUICE_EXPORT_FLOATS(Scattered);
SLUICE_EXPORT_FLOATS(Lay);

int64_t CeilDiv(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

// Returns the part size if `size` is split into equal parts of at most `limit`.
int64_t EqualPart(int64_t size, int64_t limit) {
  return size <= limit ? size : CeilDiv(size, CeilDiv(size, limit));
}

}  // namespace

Conv2dTiling TileConv2d(const Conv2dGeometry& g, int64_t windows) {
  Conv2dTiling tiling;
  tiling.columns = EqualPart(g.out_w, windows);
  if (tiling.columns == g.out_w) {
    tiling.rows = EqualPart(g.out_h, std::max<int64_t>(windows / g.out_w, 1));
  }
  if (tiling.columns == g.out_w && tiling.rows == g.out_h) {
    tiling.images =
        EqualPart(g.n, std::max<int64_t>(windows / g.out_pixels(), 1));
  }
  tiling.images = std::max<int64_t>(tiling.images, 1);
  tiling.per_row = CeilDiv(g.out_w, tiling.columns);
  tiling.per_image = tiling.per_row * CeilDiv(g.out_h, tiling.rows);
  tiling.count = CeilDiv(g.n, tiling.images) * tiling.per_image;
  return tiling;
}

Conv2dTile TileAt(const Conv2dGeometry& g,
                  const Conv2dTiling& tiling,
                  int64_t number) {
  Conv2dTile tile;
  const int64_t in_image = number % tiling.per_image;
  tile.image = number / tiling.per_image * tiling.images;
  tile.row = in_image / tiling.per_row * tiling.rows;
  tile.column = in_image % tiling.per_row * tiling.columns;
  tile.images = std::min(tiling.images, g.n - tile.image);
  tile.rows = std::min(tiling.rows, g.out_h - tile.row);
  tile.columns = std::min(tiling.columns, g.out_w - tile.column);
  return tile;
}

template <typename T>
void Im2Col(const Conv2dGeometry& g,
            const Conv2dTile& tile,
            int64_t group,
            const T* input,
            T* patches) {
  GatheredFor<T>()(g, tile, group, input, patches);
}
template <typename T>
void Col2Im(const Conv2dGeometry& g,
            const Conv2dTile& tile,
            int64_t group,
            const T* patches,
            T* input_grad) {
  ScatteredFor<T>()(g, tile, group, patches, input_grad);
}

template <typename T>
void LayPatches(const Conv2dGeometry& g,
                const Conv2dTile& tile,
                int64_t group,
                const T* patches,
                const T* bias,
                T* input) {
  LayFor<T>()(g, tile, group, patches, bias, input);
}

SLUICE_INSTANTIATE_FLOATS(Im2Col);
SLUICE_INSTANTIATE_FLOATS(Col2Im);
SLUICE_INSTANTIATE_FLOATS(LayPatches);

}  // namespace sluice
#endif  // HWY_ONCE
