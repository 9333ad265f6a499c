#include "sluice/operators/conv/conv2d_direct.h"

#include <algorithm>

#include "sluice/operators/conv/conv2d_depthwise.h"
#include "sluice/operators/conv/conv2d_work.h"
#include "sluice/operators/conv/conv_method.h"
#include "sluice/platform/cancel.h"
#include "sluice/platform/dtype_sets.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

// The multiply-adds of a shard.
constexpr int64_t kShardWork = int64_t{1} << 16;

// The layout of a tensor's planes: a plane is one channel of one image.
struct Plane {
  int64_t image, channel, row, pixel;  // strides

  int64_t At(int64_t n, int64_t c) const { return n * image + c * channel; }
};

Plane PlaneOf(int64_t channels, int64_t h, int64_t w, bool nhwc) {
  return nhwc ? Plane{h * w * channels, 1, w * channels, channels}
              : Plane{h * w * channels, h * w, w, 1};
}

// The windows [begin, end) along one axis for which element k of the filter is
// inside the input, and the input's row at window 0 (negative in the padding).
struct Span {
  Span(int64_t k,
       int64_t dilation,
       int64_t pad,
       int64_t stride,
       int64_t size,
       int64_t windows)
      : first(k * dilation - pad) {
    begin = first >= 0 ? 0 : std::min((-first - 1) / stride + 1, windows);
    end = size > first ? std::min((size - first - 1) / stride + 1, windows) : 0;
    end = std::max(begin, end);
  }
  int64_t first, begin, end;
};

// Calls row(in, out, filter, count) for each filter element (kh, kw) and each
// row of windows in which it is inside the input: the first offsets in the
// planes of the input and the output, and the index in the filter.
template <typename Row>
void ForEachRow(const Conv2dGeometry& g,
                const Plane& in,
                const Plane& out,
                const Row& row) {
  for (int64_t kh = 0; kh < g.kernel_h; ++kh) {
    const Span y(kh, g.dilation_h, g.pad_top, g.stride_h, g.in_h, g.out_h);
    for (int64_t kw = 0; kw < g.kernel_w; ++kw) {
      const Span x(kw, g.dilation_w, g.pad_left, g.stride_w, g.in_w, g.out_w);
      if (x.begin == x.end) continue;
      const int64_t first = x.first + x.begin * g.stride_w;
      for (int64_t oh = y.begin; oh < y.end; ++oh) {
        row((y.first + oh * g.stride_h) * in.row + first * in.pixel,
            oh * out.row + x.begin * out.pixel, kh * g.kernel_w + kw,
            x.end - x.begin);
      }
    }
  }
}

// to[i * to_step] += scale * from[i * from_step].
template <typename T>
void AddScaled(int64_t count,
               T scale,
               const T* from,
               int64_t from_step,
               T* to,
               int64_t to_step) {
  if (from_step == 1 && to_step == 1) {
    for (int64_t i = 0; i < count; ++i) {
      to[i] += scale * from[i];
    }
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    to[i * to_step] += scale * from[i * from_step];
  }
}

// Returns the sum of x[i * x_step] * y[i * y_step], in kLanes partial sums.
template <typename T>
T Dot(int64_t count, const T* x, int64_t x_step, const T* y, int64_t y_step) {
  constexpr int64_t kLanes = 8;
  T sums[kLanes] = {};
  int64_t i = 0;
  if (x_step == 1 && y_step == 1) {
    for (; i + kLanes <= count; i += kLanes) {
      for (int64_t l = 0; l < kLanes; ++l) {
        sums[l] += x[i + l] * y[i + l];
      }
    }
  }
  for (; i < count; ++i) {
    sums[i % kLanes] += x[i * x_step] * y[i * y_step];
  }
  for (int64_t l = 1; l < kLanes; ++l) {
    sums[0] += sums[l];
  }
  return sums[0];
}

template <typename T>
void FillPlane(const Plane& plane, int64_t h, int64_t w, T value, T* to) {
  for (int64_t y = 0; y < h; ++y) {
    for (int64_t x = 0; x < w; ++x) {
      to[y * plane.row + x * plane.pixel] = value;
    }
  }
}

int64_t Grain(int64_t work) {
  return std::max<int64_t>(kShardWork / std::max<int64_t>(work, 1), 1);
}

struct Planes {
  explicit Planes(const Conv2dGeometry& g)
      : in(PlaneOf(g.in_c, g.in_h, g.in_w, g.nhwc)),
        out(PlaneOf(g.out_c, g.out_h, g.out_w, g.nhwc)),
        taps(g.kernel_h * g.kernel_w) {}
  Plane in, out;
  int64_t taps;
};

}  // namespace

int64_t Conv2dDirectScratch(const Conv2dGeometry& g) {
  return IsDepthwiseLast(g) ? g.filter_size() : 0;
}

template <typename T>
void Conv2dDirect(const Conv2dGeometry& g,
                  const T* input,
                  const T* filter,
                  const T* bias,
                  T* output,
                  T* scratch) {
  if (IsDepthwiseLast(g)) {
    PackDepthwise(g, filter, nullptr, scratch);
    return DepthwiseLast(g, input, scratch, bias, OutputChain<T>(), output);
  }
  const Planes planes(g);
  const int64_t grain = Grain(g.out_pixels() * (g.patch() + 1));
  ParallelFor(g.n * g.out_c, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      CheckCancelled();
      const int64_t n = i / g.out_c, o = i % g.out_c;
      T* to = output + planes.out.At(n, o);
      FillPlane(planes.out, g.out_h, g.out_w, bias ? bias[o] : T{0}, to);
      for (int64_t c = 0; c < g.group_in_c(); ++c) {
        const int64_t channel = o / g.group_out_c() * g.group_in_c() + c;
        const T* from = input + planes.in.At(n, channel);
        const T* taps = filter + (o * g.group_in_c() + c) * planes.taps;
        ForEachRow(g, planes.in, planes.out,
                   [&](int64_t in, int64_t out, int64_t k, int64_t count) {
                     AddScaled(count, taps[k], from + in,
                               planes.in.pixel * g.stride_w, to + out,
                               planes.out.pixel);
                   });
      }
    }
  });
}

template <typename T>
void Conv2dDirectGradInput(const Conv2dGeometry& g,
                           const T* filter,
                           const T* output_grad,
                           T* input_grad) {
  if (IsDepthwiseLast(g)) {
    return DepthwiseLastGradInput(g, filter, output_grad, input_grad);
  }
  const Planes planes(g);
  const int64_t grain =
      Grain(g.out_pixels() * g.group_out_c() * planes.taps + g.in_pixels());
  ParallelFor(g.n * g.in_c, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      CheckCancelled();
      const int64_t n = i / g.in_c, c = i % g.in_c;
      const int64_t in_group = c % g.group_in_c();
      T* to = input_grad + planes.in.At(n, c);
      FillPlane(planes.in, g.in_h, g.in_w, T{0}, to);
      for (int64_t j = 0; j < g.group_out_c(); ++j) {
        const int64_t o = c / g.group_in_c() * g.group_out_c() + j;
        const T* from = output_grad + planes.out.At(n, o);
        const T* taps = filter + (o * g.group_in_c() + in_group) * planes.taps;
        ForEachRow(g, planes.in, planes.out,
                   [&](int64_t in, int64_t out, int64_t k, int64_t count) {
                     AddScaled(count, taps[k], from + out, planes.out.pixel,
                               to + in, planes.in.pixel * g.stride_w);
                   });
      }
    }
  });
}

template <typename T>
void Conv2dDirectGradFilter(const Conv2dGeometry& g,
                            const T* input,
                            const T* output_grad,
                            T* filter_grad) {
  if (IsDepthwiseLast(g)) {
    return DepthwiseLastGradFilter(g, input, output_grad, filter_grad);
  }
  const Planes planes(g);
  const int64_t grain = Grain(g.n * g.out_pixels() * planes.taps);
  ParallelFor(g.out_c * g.group_in_c(), grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      CheckCancelled();
      const int64_t o = i / g.group_in_c();
      const int64_t c =
          o / g.group_out_c() * g.group_in_c() + i % g.group_in_c();
      T* taps = filter_grad + i * planes.taps;
      std::fill(taps, taps + planes.taps, T{0});
      const int64_t step = planes.in.pixel * g.stride_w;
      for (int64_t n = 0; n < g.n; ++n) {
        const T* x = input + planes.in.At(n, c);
        const T* grad = output_grad + planes.out.At(n, o);
        ForEachRow(g, planes.in, planes.out,
                   [&](int64_t in, int64_t out, int64_t k, int64_t count) {
                     taps[k] +=
                         Dot(count, x + in, step, grad + out, planes.out.pixel);
                   });
      }
    }
  });
}

SLUICE_INSTANTIATE_FLOATS(Conv2dDirect);
SLUICE_INSTANTIATE_FLOATS(Conv2dDirectGradInput);
SLUICE_INSTANTIATE_FLOATS(Conv2dDirectGradFilter);

namespace {

// With fewer channels a group, products are thin matrices.
constexpr int64_t kThinGroup = 4;

class DirectMethod {
 public:
  void Prepare(KernelPreparation& preparation,
               Conv2dDirection direction,
               size_t element) {
    geometry_ = Conv2dGeometryOf(preparation.query);
    if (direction != Conv2dDirection::kForward) return;
    preparation.scratch_bytes =
        static_cast<size_t>(Conv2dDirectScratch(geometry_)) * element;
  }
  const Conv2dGeometry& geometry() const { return geometry_; }

  template <typename T>
  void Forward(const T* input,
               const T* filter,
               const T* bias,
               T* output,
               void* scratch) const {
    Conv2dDirect(geometry_, input, filter, bias, output,
                 static_cast<T*>(scratch));
  }
  template <typename T>
  void GradInput(const T* filter,
                 const T* grad,
                 const T* /*bias*/,
                 T* input_grad,
                 void* /*scratch*/) const {
    Conv2dDirectGradInput(geometry_, filter, grad, input_grad);
  }
  template <typename T>
  void GradFilter(const T* input,
                  const T* grad,
                  T* filter_grad,
                  void* /*scratch*/) const {
    Conv2dDirectGradFilter(geometry_, input, grad, filter_grad);
  }

 private:
  Conv2dGeometry geometry_;
};

std::string ThinGroups(const KernelQuery& query) {
  const Conv2dGeometry g = Conv2dGeometryOf(query);
  if (g.groups > 1 && g.group_in_c() < kThinGroup &&
      g.group_out_c() < kThinGroup) {
    return "";
  }
  return Format("needs groups of fewer than {} channels, got {} to {}",
                kThinGroup, g.group_in_c(), g.group_out_c());
}

template <Conv2dDirection kDirection>
KernelWork DirectWork(const KernelQuery& query) {
  return Conv2dDirectWork(Conv2dGeometryOf(query), kDirection,
                          SizeOf(query.input_dtypes[0]));
}

}  // namespace

REGISTER_OP_KERNEL(conv2d,
                   PLAIN,
                   CPUPlace,
                   direct,
                   KernelTraits()
                       .Estimate(&DirectWork<Conv2dDirection::kForward>)
                       .When(&ThinGroups),
                   ConvKernel<DirectMethod, FloatTypes>);
REGISTER_OP_KERNEL(conv2d_grad_input,
                   PLAIN,
                   CPUPlace,
                   direct,
                   KernelTraits()
                       .Estimate(&DirectWork<Conv2dDirection::kGradInput>)
                       .When(&ThinGroups),
                   ConvGradInputKernel<DirectMethod, FloatTypes>);
REGISTER_OP_KERNEL(conv2d_grad_filter,
                   PLAIN,
                   CPUPlace,
                   direct,
                   KernelTraits()
                       .Estimate(&DirectWork<Conv2dDirection::kGradFilter>)
                       .When(&ThinGroups),
                   ConvGradFilterKernel<DirectMethod, FloatTypes>);

}  // namespace sluice
