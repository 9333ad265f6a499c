#include "sluice/operators/math/conv/im2col.h"

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
SLUICE_SIMD_FLOATS(Gathered);
SLUICE_SIMD_FLOATS(Scattered);

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice {
namespace {

SLUICE_EXPORT_FLOATS(Gathered);
SLUICE_EXPORT_FLOATS(Scattered);

}  // namespace

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
SLUICE_INSTANTIATE_FLOATS(Im2Col);
SLUICE_INSTANTIATE_FLOATS(Col2Im);

}  // namespace sluice
#endif  // HWY_ONCE
