#include "sluice/operators/conv/conv2d_thin.h"

#include <algorithm>

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "sluice/operators/conv/conv2d_work.h"
#include "sluice/operators/conv/conv_method.h"
#include "sluice/platform/cpu/simd_dispatch.h"
#include "sluice/platform/dtype_sets.h"
#include "sluice/platform/parallel_for.h"

HWY_BEFORE_NAMESPACE();
namespace sluice {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The sums of this many taps, with two vectors of channels, fit into registers.
constexpr int64_t kTaps = 6;
// Bytes of the output's gradient that stay in the second-level cache.
constexpr int64_t kRowBytes = 1 << 17;

// A tap is an element under one row of the filter: tap r of window ow is
// element (ow * stride_w - pad_left) * in_c + r of a row of the input.
template <typename T>
struct Image {
  const Conv2dGeometry& g;
  const T* input;
  const T* grad;
  T* sums;  // [kernel_h][taps of a row][out_c]

  int64_t run() const { return g.kernel_w * g.in_c; }
  int64_t first(int64_t ow) const {
    return (ow * g.stride_w - g.pad_left) * g.in_c;
  }
  bool inside(int64_t element) const {
    return element >= 0 && element < g.in_w * g.in_c;
  }
};

// Channels [o, o + count) and taps [tap, tap + kR) of filter row kh, for rows
// [top, bottom) of windows. For windows [begin, end) of each row, all of these
// taps are inside the input.
struct Block {
  int64_t top, bottom, kh, tap, o, count, begin, end;
};

template <class D, typename T>
HWY_INLINE hn::Vec<D> LoadSome(D d, int64_t count, const T* from) {
  if (count >= static_cast<int64_t>(hn::MaxLanes(d))) return hn::LoadU(d, from);
#if HWY_TARGET <= HWY_AVX2
  return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(count)), d, from);
#else
  HWY_ALIGN T lanes[hn::MaxLanes(d)] = {};
  for (int64_t l = 0; l < count; ++l) {
    lanes[l] = from[l];
  }
  return hn::Load(d, lanes);
#endif
}

// For each of kR taps, adds x[r] times the `count` channels at grad.
template <int kR, int kV, class D, class V, typename T>
HWY_INLINE void AddPixel(
    D d, const T* x, const T* grad, int64_t count, V (&sums)[kR][kV]) {
  constexpr int64_t kLanes = hn::MaxLanes(d);
  V pixel[kV];
  HWY_UNROLL(2)
  for (int v = 0; v < kV; ++v) {
    pixel[v] = v + 1 < kV ? hn::LoadU(d, grad + v * kLanes)
                          : LoadSome(d, count - v * kLanes, grad + v * kLanes);
  }
  HWY_UNROLL(6)
  for (int r = 0; r < kR; ++r) {
    const V value = hn::Set(d, x[r]);
    HWY_UNROLL(2)
    for (int v = 0; v < kV; ++v) {
      sums[r][v] = hn::MulAdd(value, pixel[v], sums[r][v]);
    }
  }
}

// Sums kR taps by kV vectors of channels over all windows of the block. With a
// single vector, odd windows have separate sums, so that no addition waits for
// the previous one.
template <int kR, int kV, typename T>
HWY_NOINLINE void AddBlock(const Image<T>& image, const Block& block) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int64_t kLanes = hn::MaxLanes(d);
  const Conv2dGeometry& g = image.g;
  const int64_t count = block.count, out_c = g.out_c;
  const int64_t step = g.stride_w * g.in_c;
  V sums[kR][kV], others[kR][kV];
  HWY_UNROLL(6)
  for (int r = 0; r < kR; ++r) {
    HWY_UNROLL(2)
    for (int v = 0; v < kV; ++v) {
      sums[r][v] = others[r][v] = hn::Zero(d);
    }
  }
  for (int64_t oh = block.top; oh < block.bottom; ++oh) {
    const int64_t row = oh * g.stride_h + block.kh - g.pad_top;
    if (row < 0 || row >= g.in_h) continue;
    const T* x = image.input + row * g.in_w * g.in_c +
                 image.first(block.begin) + block.tap;
    const T* grad = image.grad + (oh * g.out_w + block.begin) * out_c + block.o;
    int64_t left = block.end - block.begin;
    if constexpr (kV == 1) {
      for (; left >= 2; left -= 2) {
        AddPixel<kR, kV>(d, x, grad, count, sums);
        AddPixel<kR, kV>(d, x + step, grad + out_c, count, others);
        x += 2 * step;
        grad += 2 * out_c;
      }
    }
    for (; left > 0; --left) {
      AddPixel<kR, kV>(d, x, grad, count, sums);
      x += step;
      grad += out_c;
    }
  }
  T* to = image.sums + (block.kh * image.run() + block.tap) * out_c + block.o;
  HWY_UNROLL(6)
  for (int r = 0; r < kR; ++r) {
    HWY_UNROLL(2)
    for (int v = 0; v < kV; ++v) {
      HWY_ALIGN T lanes[kLanes];
      hn::Store(hn::Add(sums[r][v], others[r][v]), d, lanes);
      for (int64_t l = 0; l < HWY_MIN(kLanes, count - v * kLanes); ++l) {
        to[r * out_c + v * kLanes + l] += lanes[l];
      }
    }
  }
}

template <int kR, typename T>
HWY_INLINE void AddTaps(const Image<T>& image, Block block) {
  constexpr int64_t kLanes = hn::MaxLanes(hn::ScalableTag<T>());
  for (block.o = 0; block.o < image.g.out_c; block.o += block.count) {
    block.count = HWY_MIN(2 * kLanes, image.g.out_c - block.o);
    if (block.count > kLanes) {
      AddBlock<kR, 2>(image, block);
    } else {
      AddBlock<kR, 1>(image, block);
    }
  }
}

// Adds the windows that have some of the taps in the padding.
template <typename T>
HWY_INLINE void AddAtTheEdge(const Image<T>& image,
                             const Block& block,
                             int64_t taps) {
  const Conv2dGeometry& g = image.g;
  for (int64_t ow = 0; ow < g.out_w; ++ow) {
    if (ow == block.begin) ow = block.end;
    if (ow >= g.out_w) break;
    for (int64_t r = block.tap; r < block.tap + taps; ++r) {
      const int64_t element = image.first(ow) + r;
      if (!image.inside(element)) continue;
      T* to = image.sums + (block.kh * image.run() + r) * g.out_c;
      for (int64_t oh = block.top; oh < block.bottom; ++oh) {
        const int64_t row = oh * g.stride_h + block.kh - g.pad_top;
        if (row < 0 || row >= g.in_h) continue;
        const T x = image.input[row * g.in_w * g.in_c + element];
        const T* grad = image.grad + (oh * g.out_w + ow) * g.out_c;
        for (int64_t o = 0; o < g.out_c; ++o) {
          to[o] += x * grad[o];
        }
      }
    }
  }
}

template <typename T>
HWY_INLINE void AddRows(const Image<T>& image, int64_t top, int64_t bottom) {
  const Conv2dGeometry& g = image.g;
  const int64_t run = image.run();
  const int64_t blocks = (run + kTaps - 1) / kTaps;
  for (int64_t number = 0; number < blocks * g.kernel_h; ++number) {
    Block block = {};
    block.top = top;
    block.bottom = bottom;
    block.kh = number / blocks;
    block.tap = number % blocks * run / blocks;
    const int64_t taps = (number % blocks + 1) * run / blocks - block.tap;
    const auto all_inside = [&](int64_t ow) {
      return image.inside(image.first(ow) + block.tap) &&
             image.inside(image.first(ow) + block.tap + taps - 1);
    };
    while (block.begin < g.out_w && !all_inside(block.begin)) {
      ++block.begin;
    }
    block.end = block.begin;
    while (block.end < g.out_w && all_inside(block.end)) {
      ++block.end;
    }
    AddAtTheEdge(image, block, taps);
    if (block.begin == block.end) continue;
    switch (taps) {
      case 1:
        AddTaps<1>(image, block);
        break;
      case 2:
        AddTaps<2>(image, block);
        break;
      case 3:
        AddTaps<3>(image, block);
        break;
      case 4:
        AddTaps<4>(image, block);
        break;
      case 5:
        AddTaps<5>(image, block);
        break;
      default:
        AddTaps<6>(image, block);
    }
  }
}

template <typename T>
HWY_INLINE void AddImage(const Conv2dGeometry& g,
                         const T* input,
                         const T* grad,
                         T* sums) {
  const Image<T> image{g, input, grad, sums};
  const int64_t row_bytes =
      g.out_w * g.out_c * static_cast<int64_t>(sizeof(T)) + 1;
  const int64_t rows = HWY_MAX(kRowBytes / row_bytes, 1);
  for (int64_t top = 0; top < g.out_h; top += rows) {
    AddRows(image, top, HWY_MIN(top + rows, g.out_h));
  }
}

SLUICE_SIMD_FLOATS(AddImage);

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice {
namespace {

SLUICE_EXPORT_FLOATS(AddImage);

constexpr int64_t kMaxParts = 16;

}  // namespace

Conv2dThinPlan PlanConv2dThin(const Conv2dGeometry& g) {
  return {g, std::clamp<int64_t>(g.n, 1, kMaxParts)};
}

namespace {

// Computes the whole filter_grad through ParallelFor. T: float or double.
template <typename T>
void Conv2dThinGradFilter(const Conv2dThinPlan& plan,
                          const T* input,
                          const T* output_grad,
                          T* filter_grad,
                          void* scratch) {
  const Conv2dGeometry& g = plan.g;
  T* sums = static_cast<T*>(scratch);
  const int64_t size = g.filter_size();
  const auto add = AddImageFor<T>();
  // Each image's sums start at 0 and are then added, so that no sum is long.
  ParallelFor(plan.parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      T* to = sums + part * size;
      std::fill(to, to + size, T{0});
      for (int64_t i = part * g.n / plan.parts;
           i < (part + 1) * g.n / plan.parts; ++i) {
        add(g, input + i * g.in_pixels() * g.in_c,
            output_grad + i * g.out_pixels() * g.out_c, to);
      }
    }
  });
  const int64_t taps = g.kernel_h * g.kernel_w;
  for (int64_t o = 0; o < g.out_c; ++o) {
    for (int64_t c = 0; c < g.in_c; ++c) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        T sum = 0;
        for (int64_t part = 0; part < plan.parts; ++part) {
          sum += sums[part * size + (tap * g.in_c + c) * g.out_c + o];
        }
        filter_grad[(o * g.in_c + c) * taps + tap] = sum;
      }
    }
  }
}

// With more channels, it pays to store patches for a product of matrices.
constexpr int64_t kThin = 4;

class ThinMethod {
 public:
  void Prepare(KernelPreparation& preparation,
               Conv2dDirection /*direction*/,
               size_t element) {
    plan_ = PlanConv2dThin(Conv2dGeometryOf(preparation.query));
    preparation.scratch_bytes = plan_.scratch_bytes(element);
  }
  const Conv2dGeometry& geometry() const { return plan_.g; }

  template <typename T>
  void GradFilter(const T* input,
                  const T* grad,
                  T* filter_grad,
                  void* scratch) const {
    Conv2dThinGradFilter(plan_, input, grad, filter_grad, scratch);
  }

 private:
  Conv2dThinPlan plan_;
};

std::string ThinInput(const KernelQuery& query) {
  const Conv2dGeometry g = Conv2dGeometryOf(query);
  if (FitsConv2dThin(g) && g.in_c <= kThin) return "";
  return Format(
      "needs NHWC, one group, no dilation and at most {} input channels, got "
      "{} in {} groups",
      kThin, g.in_c, g.groups);
}

KernelWork ThinWork(const KernelQuery& query) {
  return Conv2dThinWork(Conv2dGeometryOf(query), SizeOf(query.input_dtypes[0]));
}

}  // namespace

REGISTER_OP_KERNEL(conv2d_grad_filter,
                   PLAIN,
                   CPUPlace,
                   thin,
                   KernelTraits().Estimate(&ThinWork).When(&ThinInput),
                   ConvGradFilterKernel<ThinMethod, FloatTypes>);

}  // namespace sluice
#endif  // HWY_ONCE
