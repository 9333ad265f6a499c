#include "sluice/operators/pool2d_kernel.h"

#include <algorithm>

#include "sluice/framework/op_registry.h"
#include "sluice/operators/onednn/sequence.h"
#include "sluice/operators/onednn/vector_width.h"

namespace sluice::operators::onednn {
namespace {

using framework::KernelQuery;
using framework::KernelTraits;
using framework::OpKernelConstruction;
using math::Pool2dGeometry;

// A pooling in oneDNN's words.
struct PoolSizes {
  PoolSizes(const Pool2dGeometry& geometry, platform::DType dtype)
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
        // Pixels in no window are told by the sizes alone.
        padding_end{std::max<int64_t>(geometry.pad_bottom, 0),
                    std::max<int64_t>(geometry.pad_right, 0)},
        algorithm(geometry.max ? dnnl::algorithm::pooling_max
                  : geometry.exclusive
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

template <typename T>
class PoolSequence final : public SequenceKernel {
 public:
  explicit PoolSequence(const OpKernelConstruction& /*construction*/) {}

 private:
  void Build(SequenceBuilder& builder) override {
    const KernelQuery& query = builder.query();
    const PoolSizes sizes(Pool2dGeometryOf(query, query.outputs[0]),
                          platform::kDTypeOf<T>);
    const auto pool = Compile<dnnl::pooling_forward>(
        builder.compile_for(), "pooling", dnnl::prop_kind::forward_inference,
        sizes.algorithm, sizes.x, sizes.out, sizes.strides, sizes.kernel,
        sizes.dilations, sizes.padding_begin, sizes.padding_end);
    builder.Add("pooling", pool,
                {{DNNL_ARG_SRC, builder.Input("X", sizes.x)},
                 {DNNL_ARG_DST, builder.Output("Out", sizes.out)}});
  }
};

template <typename T>
class PoolGradSequence final : public SequenceKernel {
 public:
  explicit PoolGradSequence(const OpKernelConstruction& /*construction*/) {}

 private:
  void Build(SequenceBuilder& builder) override {
    const KernelQuery& query = builder.query();
    const Pool2dGeometry geometry =
        Pool2dGeometryOf(query, query.inputs.back());
    const PoolSizes sizes(geometry, platform::kDTypeOf<T>);
    const auto back = Compile<dnnl::pooling_backward>(
        builder.compile_for(), "pooling_backward", sizes.algorithm, sizes.x,
        sizes.out, sizes.strides, sizes.kernel, sizes.dilations,
        sizes.padding_begin, sizes.padding_end,
        [&] { return sizes.Training(); });
    std::vector<std::pair<int, SequenceBuilder::Value>> arguments = {
        {DNNL_ARG_DIFF_DST, builder.Input("Out@GRAD", sizes.out)},
        {DNNL_ARG_DIFF_SRC, builder.Output("X@GRAD", sizes.x)}};
    if (geometry.max) {
      arguments.emplace_back(DNNL_ARG_WORKSPACE, Maxima(builder, sizes));
    }
    builder.Add("pooling_backward", back, std::move(arguments));
  }

  // Where the maxima are. The forward op has no such output: oneDNN wants a
  // form of its own, so they are looked for once more.
  static SequenceBuilder::Value Maxima(SequenceBuilder& builder,
                                       const PoolSizes& sizes) {
    const auto pool = Compile<dnnl::pooling_forward>(
        builder.compile_for(), "pooling", dnnl::prop_kind::forward_training,
        sizes.algorithm, sizes.x, sizes.out, sizes.strides, sizes.kernel,
        sizes.dilations, sizes.padding_begin, sizes.padding_end);
    const auto maxima = builder.Temporary(pool->Wants(DNNL_ARG_WORKSPACE));
    builder.Add("pooling", pool,
                {{DNNL_ARG_SRC, builder.Input("X", sizes.x)},
                 {DNNL_ARG_DST, builder.Temporary(sizes.out)},
                 {DNNL_ARG_WORKSPACE, maxima}});
    return maxima;
  }
};

// Pixels of a window from which on oneDNN's code without vectors pays.
constexpr int64_t kLargeWindow = 16;

// A NaN is not the maximum of its window to oneDNN, and it looks for maxima
// twice: those run only where a hint asks for them. Small averages do not pay
// for the call, and without AVX-512 it has no vectors for NCHW: each window
// costs as much as some 12 pixels do in the plain kernel.
int PoolPriority(const KernelQuery& query) {
  if (query.Attr<std::string>("pooling_type") == "max") return -1;
  const bool forward = query.op.type == "pool2d";
  const Pool2dGeometry g =
      Pool2dGeometryOf(query, forward ? query.outputs[0] : query.inputs.back());
  const bool vectors = g.nhwc || WideVectors();
  const bool pays = vectors || g.kernel_h * g.kernel_w >= kLargeWindow;
  return pays && query.inputs[0].numel() >= 1 << 12 ? 20 : -1;
}

KernelTraits PoolTraits() {
  return KernelTraits().Priority(20, &PoolPriority).When(&FitsOneDnn);
}

// oneDNN adds up whole windows in float.
constexpr int64_t kMostPixels = 64;

std::string FitsForward(const KernelQuery& query) {
  const Pool2dGeometry g = Pool2dGeometryOf(query, query.outputs[0]);
  if (!g.max && g.kernel_h * g.kernel_w > kMostPixels) {
    return "oneDNN loses digits of averages of more than 64 pixels";
  }
  return FitsOneDnn(query);
}

}  // namespace

REGISTER_OP_KERNEL(pool2d,
                   ONEDNN,
                   CPUPlace,
                   pooling,
                   PoolTraits().When(&FitsForward),
                   PoolSequence<float>,
                   PoolSequence<platform::bfloat16>);
REGISTER_OP_KERNEL(pool2d_grad,
                   ONEDNN,
                   CPUPlace,
                   pooling,
                   PoolTraits(),
                   PoolGradSequence<float>);

}  // namespace sluice::operators::onednn
