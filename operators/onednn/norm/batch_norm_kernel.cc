#include "sluice/operators/onednn/sequence.h"
#include "sluice/operators/onednn/vector_width.h"
#include "sluice/operators/registration.h"

namespace sluice::onednn {
namespace {

using dnnl::normalization_flags;
using Value = SequenceBuilder::Value;

// Computes to = alpha * from + beta, or alpha * from ^ beta.
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

// Normalizes by constant statistics only. oneDNN sums batch statistics in
// float: of 65,536 numbers around 1e4 three digits remain.
template <typename T>
class BatchNormSequence final : public SequenceKernel {
 private:
  void Build(SequenceBuilder& builder) override {
    const KernelQuery& query = builder.query();
    const DDim& x = query.inputs[0];
    const bool last = query.Attr<std::string>("data_format") == "NHWC";
    const int rank = x.rank();
    const int64_t channels = x[last ? rank - 1 : 1];
    const int64_t pixels = last ? x.Product(1, rank - 1) : x.Product(2, rank);
    const auto epsilon = static_cast<float>(query.Attr<double>("epsilon"));
    const Desc image = Image({x[0], channels, pixels, 1}, kDTypeOf<T>, last);
    const Desc vector({channels}, ToDnnl(kDTypeOf<T>), Tag::a);
    const auto norm = Compile<dnnl::batch_normalization_forward>(
        builder.compile_for(), "batch_normalization",
        dnnl::prop_kind::forward_inference, image, image, epsilon,
        normalization_flags::use_scale | normalization_flags::use_shift |
            normalization_flags::use_global_stats);
    const Value mean = builder.Input("Mean", vector);
    const Value variance = builder.Input("Variance", vector);
    builder.Add("batch_normalization", norm,
                {{DNNL_ARG_SRC, builder.Input("X", image)},
                 {DNNL_ARG_MEAN, mean},
                 {DNNL_ARG_VARIANCE, variance},
                 {DNNL_ARG_SCALE, builder.Input("Scale", vector)},
                 {DNNL_ARG_SHIFT, builder.Input("Bias", vector)},
                 {DNNL_ARG_DST, builder.Output("Y", image)}});

    builder.Deliver(mean, builder.Output("SavedMean", vector));
    const Value inverse = builder.Output("SavedVariance", vector);
    Apply(builder, dnnl::algorithm::eltwise_linear, vector, variance, inverse,
          1, epsilon);
    // There are two steps because oneDNN's (-infinity) ^ (-1 / 2) is 0.
    Apply(builder, dnnl::algorithm::eltwise_sqrt, vector, inverse, inverse, 0,
          0);
    Apply(builder, dnnl::algorithm::eltwise_pow, vector, inverse, inverse, 1,
          -1);
    for (const auto& [output, value] :
         {std::pair{"MeanOut", mean}, std::pair{"VarianceOut", variance}}) {
      if (!builder.HasOutput(output)) continue;
      builder.Deliver(value, builder.Output(output, vector));
    }
  }
};

std::string TakesConstants(const KernelQuery& query) {
  if (!query.Attr<bool>("is_test")) {
    return "oneDNN adds up the statistics of a batch in float";
  }
  return FitsOneDnn(query);
}

// oneDNN uses vectors of channels if channels are last and fill the vectors,
// otherwise plain loops. The saved statistics need their own primitives.
KernelWork NormWork(const KernelQuery& query) {
  const DDim& x = query.inputs[0];
  const bool last = query.Attr<std::string>("data_format") == "NHWC";
  const bool full = last && x[x.rank() - 1] % (WideVectors() ? 16 : 8) == 0;
  const auto channels = static_cast<double>(x[last ? x.rank() - 1 : 1]);
  KernelWork work = DefaultKernelWork(query);
  work.library_calls = 1;
  work.prepare_seconds = kPrimitiveSeconds;
  work.channels = channels;
  if (!full) work.moves = static_cast<double>(x.numel());
  return work;
}

}  // namespace

REGISTER_OP_KERNEL(batch_norm,
                   ONEDNN,
                   CPUPlace,
                   batch_norm,
                   KernelTraits().Estimate(&NormWork).When(&TakesConstants),
                   BatchNormSequence<float>);

}  // namespace sluice::onednn
