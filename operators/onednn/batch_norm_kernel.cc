#include "sluice/framework/op_registry.h"
#include "sluice/operators/onednn/sequence.h"

namespace sluice::operators::onednn {
namespace {

using dnnl::normalization_flags;
using framework::KernelQuery;
using framework::KernelTraits;
using framework::OpKernelConstruction;
using Value = SequenceBuilder::Value;

// What both directions are made of.
template <typename T>
struct NormSizes {
  explicit NormSizes(const KernelQuery& query)
      : epsilon(static_cast<float>(query.Attr<double>("epsilon"))),
        is_test(query.Attr<bool>("is_test")) {
    const framework::DDim& x = query.inputs[0];
    const bool last = query.Attr<std::string>("data_format") == "NHWC";
    const int rank = x.rank();
    const int64_t channels = x[last ? rank - 1 : 1];
    const int64_t pixels = last ? x.Product(1, rank - 1) : x.Product(2, rank);
    image = Image({x[0], channels, pixels, 1}, platform::kDTypeOf<T>, last);
    vector = Desc({channels}, ToDnnl(platform::kDTypeOf<T>), Tag::a);
    flags = normalization_flags::use_scale | normalization_flags::use_shift;
    if (is_test) flags = flags | normalization_flags::use_global_stats;
  }

  dnnl::batch_normalization_forward::primitive_desc Training() const {
    return {Engine(), dnnl::prop_kind::forward_training, image, image, epsilon,
            flags};
  }

  float epsilon;
  bool is_test;
  Desc image, vector;
  normalization_flags flags;
};

// to = alpha * from + beta, or alpha * from ^ beta.
void Apply(SequenceBuilder& builder,
           dnnl::algorithm algorithm,
           const Desc& desc,
           Value from,
           Value to,
           float alpha,
           float beta) {
  const auto eltwise = Compile<dnnl::eltwise_forward>(
      builder.compile_for(), "eltwise", dnnl::prop_kind::forward_inference,
      algorithm, desc, desc, alpha, beta);
  builder.Add("eltwise", eltwise, {{DNNL_ARG_SRC, from}, {DNNL_ARG_DST, to}});
}

template <typename T>
class BatchNormSequence final : public SequenceKernel {
 public:
  explicit BatchNormSequence(const OpKernelConstruction& construction)
      : momentum_(construction.Attr<double>("momentum")) {}

 private:
  void Build(SequenceBuilder& builder) override {
    const NormSizes<T> sizes(builder.query());
    const auto norm = Compile<dnnl::batch_normalization_forward>(
        builder.compile_for(), "batch_normalization",
        sizes.is_test ? dnnl::prop_kind::forward_inference
                      : dnnl::prop_kind::forward_training,
        sizes.image, sizes.image, sizes.epsilon, sizes.flags);
    const Value saved_mean = builder.Output("SavedMean", sizes.vector);
    const Value running_mean = builder.Input("Mean", sizes.vector);
    const Value running_variance = builder.Input("Variance", sizes.vector);
    const Value mean = sizes.is_test ? running_mean : saved_mean;
    const Value variance =
        sizes.is_test ? running_variance : builder.Temporary(sizes.vector);
    builder.Add("batch_normalization", norm,
                {{DNNL_ARG_SRC, builder.Input("X", sizes.image)},
                 {DNNL_ARG_MEAN, mean},
                 {DNNL_ARG_VARIANCE, variance},
                 {DNNL_ARG_SCALE, builder.Input("Scale", sizes.vector)},
                 {DNNL_ARG_SHIFT, builder.Input("Bias", sizes.vector)},
                 {DNNL_ARG_DST, builder.Output("Y", sizes.image)}});
    if (sizes.is_test) builder.Deliver(mean, saved_mean);

    const Value inverse = builder.Output("SavedVariance", sizes.vector);
    Apply(builder, dnnl::algorithm::eltwise_linear, sizes.vector, variance,
          inverse, 1, sizes.epsilon);
    Apply(builder, dnnl::algorithm::eltwise_pow, sizes.vector, inverse, inverse,
          1, -0.5F);
    Run(builder, sizes, "MeanOut", running_mean, mean);
    Run(builder, sizes, "VarianceOut", running_variance, variance);
  }

  // The running statistic, with that of this batch.
  void Run(SequenceBuilder& builder,
           const NormSizes<T>& sizes,
           const char* output,
           Value before,
           Value batch) const {
    if (!builder.HasOutput(output)) return;
    const Value after = builder.Output(output, sizes.vector);
    if (sizes.is_test) return builder.Deliver(before, after);
    const auto keep = static_cast<float>(momentum_);
    // after = keep * before; after += (1 - keep) * batch.
    Apply(builder, dnnl::algorithm::eltwise_linear, sizes.vector, before, after,
          keep, 0);
    CompileFor compile_for = builder.compile_for();
    compile_for.post_ops.sum = true;
    const auto add = Compile<dnnl::eltwise_forward>(
        compile_for, "eltwise", dnnl::prop_kind::forward_inference,
        dnnl::algorithm::eltwise_linear, sizes.vector, sizes.vector, 1 - keep,
        0.0F);
    builder.Add("eltwise", add, {{DNNL_ARG_SRC, batch}, {DNNL_ARG_DST, after}});
  }

  double momentum_;
};

template <typename T>
class BatchNormGradSequence final : public SequenceKernel {
 public:
  explicit BatchNormGradSequence(const OpKernelConstruction& /*construction*/) {
  }

 private:
  void Build(SequenceBuilder& builder) override {
    const NormSizes<T> sizes(builder.query());
    const auto norm = Compile<dnnl::batch_normalization_backward>(
        builder.compile_for(), "batch_normalization_backward",
        dnnl::prop_kind::backward, sizes.image, sizes.image, sizes.image,
        sizes.epsilon, sizes.flags, [&] { return sizes.Training(); });
    // oneDNN wants the variance, the op keeps 1 / sqrt(variance + epsilon).
    const Value variance = builder.Temporary(sizes.vector);
    Apply(builder, dnnl::algorithm::eltwise_pow, sizes.vector,
          builder.Input("SavedVariance", sizes.vector), variance, 1, -2);
    Apply(builder, dnnl::algorithm::eltwise_linear, sizes.vector, variance,
          variance, 1, -sizes.epsilon);
    const auto out = [&](const char* name, const Desc& desc) {
      return builder.HasOutput(name) ? builder.Output(name, desc)
                                     : builder.Temporary(desc);
    };
    builder.Add("batch_normalization_backward", norm,
                {{DNNL_ARG_SRC, builder.Input("X", sizes.image)},
                 {DNNL_ARG_MEAN, builder.Input("SavedMean", sizes.vector)},
                 {DNNL_ARG_VARIANCE, variance},
                 {DNNL_ARG_SCALE, builder.Input("Scale", sizes.vector)},
                 {DNNL_ARG_DIFF_DST, builder.Input("Y@GRAD", sizes.image)},
                 {DNNL_ARG_DIFF_SRC, out("X@GRAD", sizes.image)},
                 {DNNL_ARG_DIFF_SCALE, out("Scale@GRAD", sizes.vector)},
                 {DNNL_ARG_DIFF_SHIFT, out("Bias@GRAD", sizes.vector)}});
  }
};

std::string TakesGrad(const KernelQuery& query) {
  if (query.op.Input("Y@GRAD").empty()) return "needs Y@GRAD";
  if (!query.op.Input("SavedMean@GRAD").empty() ||
      !query.op.Input("SavedVariance@GRAD").empty()) {
    return "takes no gradients of SavedMean and SavedVariance";
  }
  return FitsOneDnn(query);
}

// Measured on one core with AVX-512: plain kernels are three times as fast
// where the channels come first, and where vectors of them would not be full.
int NormPriority(const KernelQuery& query) {
  const framework::DDim& x = query.inputs[0];
  const bool last = query.Attr<std::string>("data_format") == "NHWC";
  const bool full = x[x.rank() - 1] % 16 == 0 || !query.Attr<bool>("is_test");
  return last && full && x.numel() >= 1 << 16 ? 20 : -1;
}

}  // namespace

REGISTER_OP_KERNEL(batch_norm,
                   ONEDNN,
                   CPUPlace,
                   batch_norm,
                   KernelTraits().Priority(20, &NormPriority).When(&FitsOneDnn),
                   BatchNormSequence<float>);
REGISTER_OP_KERNEL(batch_norm_grad,
                   ONEDNN,
                   CPUPlace,
                   batch_norm,
                   KernelTraits().Priority(20, &NormPriority).When(&TakesGrad),
                   BatchNormGradSequence<float>);

}  // namespace sluice::operators::onednn
