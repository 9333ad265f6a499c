#include "sluice/operators/pool/pool2d_kernel.h"

#include <algorithm>
#include <cmath>

#include "sluice/operators/math/work.h"
#include "sluice/operators/onednn/sequence.h"
#include "sluice/operators/onednn/vector_width.h"
#include "sluice/operators/registration.h"

namespace sluice::onednn {
namespace {

// An average pooling in oneDNN's terms.
struct PoolSizes {
  PoolSizes(const Pool2dGeometry& geometry, DType dtype)
      : x(Image({geometry.n, geometry.c, geometry.in_h, geometry.in_w},
                dtype,
                geometry.nhwc)),
        out(Image({geometry.n, geometry.c, geometry.out_h, geometry.out_w},
                  dtype,
                  geometry.nhwc)),
        strides{geometry.stride_h, geometry.stride_w},
        kernel{geometry.kernel_h, geometry.kernel_w},
        dilations{0, 0},
        padding_begin{geometry.pad_top, geometry.pad_left},
        // oneDNN derives pixels in no window from the sizes alone.
        padding_end{std::max<int64_t>(geometry.pad_bottom, 0),
                    std::max<int64_t>(geometry.pad_right, 0)},
        algorithm(geometry.exclusive
                      ? dnnl::algorithm::pooling_avg_exclude_padding
                      : dnnl::algorithm::pooling_avg_include_padding) {}

  dnnl::pooling_forward::primitive_desc Training() const {
    return {Engine(),      dnnl::prop_kind::forward_training,
            algorithm,     x,
            out,           strides,
            kernel,        dilations,
            padding_begin, padding_end};
  }

  Desc x, out;
  Dims strides, kernel, dilations, padding_begin, padding_end;
  dnnl::algorithm algorithm;
};

bool IsFinite(float value) {
  return std::isfinite(value);
}
bool IsFinite(bfloat16 value) {
  return (value.bits & 0x7F80) != 0x7F80;
}

template <typename T>
class PoolSequence final : public SequenceKernel {
 private:
  void Build(SequenceBuilder& builder) override {
    const KernelQuery& query = builder.query();
    geometry_ = Pool2dGeometryOf(query, query.outputs[0]);
    dims_ = query.outputs[0];
    const PoolSizes sizes(geometry_, kDTypeOf<T>);
    const auto pool = Compile<dnnl::pooling_forward>(
        builder.compile_for(), "pooling", dnnl::prop_kind::forward_inference,
        sizes.algorithm, sizes.x, sizes.out, sizes.strides, sizes.kernel,
        sizes.dilations, sizes.padding_begin, sizes.padding_end);
    builder.Add("pooling", pool,
                {{DNNL_ARG_SRC, builder.Input("X", sizes.x)},
                 {DNNL_ARG_DST, builder.Output("Out", sizes.out)}});
  }

  // A sum may overflow although its average does not.
  void Correct(OpKernelContext& context) const override {
    T* const out = context.AllocateOutput(0, dims_).template data<T>();
    const bool finite = std::all_of(out, out + dims_.numel(),
                                    [](T value) { return IsFinite(value); });
    if (finite) return;
    Pool2d(geometry_, context.Input(0).template data<T>(), out);
  }

  Pool2dGeometry geometry_;
  DDim dims_;
};

template <typename T>
class PoolGradSequence final : public SequenceKernel {
 private:
  void Build(SequenceBuilder& builder) override {
    const KernelQuery& query = builder.query();
    const PoolSizes sizes(Pool2dGeometryOf(query, query.inputs.back()),
                          kDTypeOf<T>);
    const auto back = Compile<dnnl::pooling_backward>(
        builder.compile_for(), "pooling_backward", sizes.algorithm, sizes.x,
        sizes.out, sizes.strides, sizes.kernel, sizes.dilations,
        sizes.padding_begin, sizes.padding_end,
        [&] { return sizes.Training(); });
    builder.Add("pooling_backward", back,
                {{DNNL_ARG_DIFF_DST, builder.Input("Out@GRAD", sizes.out)},
                 {DNNL_ARG_DIFF_SRC, builder.Output("X@GRAD", sizes.x)}});
  }
};

Pool2dGeometry GeometryOf(const KernelQuery& query) {
  const bool forward = query.op.type == "pool2d";
  return Pool2dGeometryOf(query,
                          forward ? query.outputs[0] : query.inputs.back());
}

// Vectors hold channels. Those of NCHW are transposed, which costs whole
// vectors. Without AVX-512, oneDNN has no vector code for NCHW: each pixel of a
// window takes a few steps.
KernelWork PoolWork(const KernelQuery& query) {
  const Pool2dGeometry g = GeometryOf(query);
  const auto real = [](int64_t value) { return static_cast<double>(value); };
  const double windows = real(g.n * g.out_pixels());
  const double pixels = real(g.n * g.in_pixels());
  const double taps = real(g.kernel_h * g.kernel_w);
  const double channels = Padded(g.c, WideVectors() ? 16 : 8);
  KernelWork work;
  work.library_calls = 1;
  work.flops = windows * taps * channels;
  work.prepare_seconds = kPrimitiveSeconds;
  work.costs = "onednn_pool";
  work.max_threads = g.nhwc ? real(g.n * g.out_h)
                            : real(g.n) * channels / (WideVectors() ? 16 : 8);
  work.bytes = static_cast<double>(SizeOf(query.input_dtypes[0])) * real(g.c) *
               (windows + pixels);
  // Gradients are added in memory: values stored with a mask cannot be loaded
  // again at once.
  const bool masked = query.op.type != "pool2d" && channels > real(g.c);
  if (g.nhwc && masked) work.taps = windows * taps;
  if (!g.nhwc && WideVectors()) {
    work.copies = channels * (windows + pixels);
  } else if (!g.nhwc) {
    work.terms = real(g.c) * windows * taps;
    work.windows = real(g.c) * windows;
  }
  return work;
}

// oneDNN sums whole windows in float.
constexpr int64_t kMostPixels = 64;

std::string TakesAverage(const KernelQuery& query) {
  const Pool2dGeometry g = GeometryOf(query);
  if (g.max) return "to oneDNN a NaN is not the maximum of its window";
  if (query.op.type == "pool2d" && g.kernel_h * g.kernel_w > kMostPixels) {
    return "oneDNN loses digits of averages of more than 64 pixels";
  }
  if (!g.exclusive && g.overhangs()) {
    return "oneDNN counts what windows reach past the padding";
  }
  return FitsOneDnn(query);
}

KernelTraits PoolTraits() {
  return KernelTraits().Estimate(&PoolWork).When(&TakesAverage);
}

}  // namespace

REGISTER_OP_KERNEL(pool2d,
                   ONEDNN,
                   CPUPlace,
                   pooling,
                   PoolTraits(),
                   PoolSequence<FloatAndBFloat16>);
REGISTER_OP_KERNEL(pool2d_grad,
                   ONEDNN,
                   CPUPlace,
                   pooling,
                   PoolTraits(),
                   PoolGradSequence<float>);

}  // namespace sluice::onednn
