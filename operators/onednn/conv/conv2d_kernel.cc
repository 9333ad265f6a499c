#include "sluice/operators/fusion/folded_norm.h"
#include "sluice/operators/onednn/conv/conv2d_sizes.h"
#include "sluice/operators/onednn/packed_reorder.h"
#include "sluice/operators/onednn/sequence.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/error.h"

namespace sluice::onednn {
namespace {

// Packs Filter, Scale and Variance.
class FilterPacking final : public Packing {
 public:
  // The reorder's address identifies it while this object exists.
  FilterPacking(double epsilon, CompiledPtr reorder)
      : Packing(Format("folded filter {} {}",
                       epsilon,
                       reinterpret_cast<uintptr_t>(reorder.get()))),
        epsilon_(epsilon),
        reorder_(std::move(reorder)) {}

  Tensor Make(std::span<const Tensor* const> parameters,
              int threads) const override {
    std::vector<float> filter = FloatsOf(*parameters[0]);
    const auto factors = NormFactors(*parameters[1], *parameters[2], epsilon_);
    const size_t size = filter.size() / factors.size();
    for (size_t o = 0; o < factors.size(); ++o) {
      for (size_t i = o * size; i < (o + 1) * size; ++i) {
        filter[i] = static_cast<float>(filter[i] * factors[o]);
      }
    }
    Tensor packed = PackedBytes(reorder_->Wants(DNNL_ARG_DST).get_size());
    RunReorder(*reorder_, filter.data(), packed.raw_data(), threads);
    return packed;
  }

 private:
  double epsilon_;
  CompiledPtr reorder_;
};

double Epsilon(const SequenceBuilder& builder) {
  return builder.query().Attr<double>("epsilon");
}

// Filter and bias of a fused_conv2d with a batch norm (fusion/folded_norm.h),
// in oneDNN's layout. FoldedFilter has the dimensions of `given`, and the
// layout and dtype of `wanted`. It and the folded bias, float32 [out channels],
// are recomputed when one of their parameters has changed.
SequenceBuilder::Value FoldedFilter(SequenceBuilder& builder,
                                    const Desc& given,
                                    const Desc& wanted) {
  const Desc floats(given.get_dims(), Memory::data_type::f32,
                    given.get_strides());
  return builder.Packed(
      std::make_shared<const FilterPacking>(
          Epsilon(builder),
          CompileReorder(builder.compile_for().Plain(), floats, wanted)),
      {"Filter", "Scale", "Variance"}, wanted);
}

SequenceBuilder::Value FoldedBias(SequenceBuilder& builder, const Desc& bias) {
  std::vector<std::string_view> inputs = {"Scale", "Shift", "Mean", "Variance"};
  if (builder.HasInput("Bias")) inputs.emplace_back("Bias");
  return builder.Packed(PackFoldedBias(Epsilon(builder)), inputs, bias);
}

template <typename Variant, typename T>
class Conv2dSequence final : public ConvSequence<Variant> {
 private:
  void Build(SequenceBuilder& builder) override {
    constexpr auto kType = kDTypeOf<T>;
    constexpr ConvVariant kVariant = Variant::kVariant;
    const ConvSizes sizes(builder.query());
    const bool norm = HasNorm(builder.query().op);
    const bool has_bias = norm || builder.HasInput("Bias");
    const Desc bias =
        has_bias ? Desc({sizes.geometry.out_c},
                        norm ? Memory::data_type::f32 : ToDnnl(kType), Tag::a)
                 : Desc();
    CompileFor compile_for = builder.compile_for();
    const Activation activation = FirstActivation(builder.query().op);
    compile_for.post_ops.activation = activation;
    const auto conv = Compile<dnnl::convolution_forward>(
        compile_for, "convolution", dnnl::prop_kind::forward_inference,
        dnnl::algorithm::convolution_direct,
        sizes.WantedImage(sizes.input(), kType, kVariant),
        sizes.WantedFilter(kType), bias,
        sizes.WantedImage(sizes.output(), kType, kVariant), sizes.strides(),
        sizes.dilations(), sizes.padding_begin(), sizes.padding_end());

    CheckKeepsNaN(activation, *conv);

    const auto input = builder.In(
        builder.Input("Input", sizes.GivenImage(sizes.input(), kType)),
        conv->Wants(DNNL_ARG_SRC));
    const Desc given_filter = sizes.GivenFilter(kType);
    const Desc wanted_filter = conv->Wants(DNNL_ARG_WEIGHTS);
    const auto filter =
        norm ? FoldedFilter(builder, given_filter, wanted_filter)
             : builder.In(builder.Input("Filter", given_filter), wanted_filter);
    const auto output =
        builder.Output("Output", sizes.GivenImage(sizes.output(), kType));
    const auto target = builder.For(output, conv->Wants(DNNL_ARG_DST));
    std::vector<std::pair<int, SequenceBuilder::Value>> arguments = {
        {DNNL_ARG_SRC, input},
        {DNNL_ARG_WEIGHTS, filter},
        {DNNL_ARG_DST, target}};
    if (has_bias) {
      arguments.emplace_back(DNNL_ARG_BIAS, norm ? FoldedBias(builder, bias)
                                                 : builder.Input("Bias", bias));
    }
    builder.Add("convolution", conv, std::move(arguments));
    builder.Deliver(target, output);
    builder.Chain<T>(output, activation == Activation::kNone ? 0 : 1);
  }

  // The sigmoid that oneDNN applies after its GEMM converts NaN to 0.
  static void CheckKeepsNaN(Activation activation, const Compiled& conv) {
    if (activation != Activation::kSigmoid) return;
    SLUICE_ENFORCE(conv.implementation.find("gemm") == std::string::npos,
                   ErrorCode::kUnimplemented, "onednn.sigmoid_nan",
                   "conv2d: the sigmoid after oneDNN's {} loses NaN",
                   conv.implementation);
  }
};

template <typename Variant>
using Conv2d = Conv2dSequence<Variant, FloatAndBFloat16>;

}  // namespace

REGISTER_OP_KERNEL(
    conv2d, ONEDNN, CPUPlace, direct, KernelTraits(), Conv2d<Direct>);
REGISTER_OP_KERNEL(conv2d,
                   ONEDNN,
                   CPUPlace,
                   channels_last,
                   KernelTraits(),
                   Conv2d<ChannelsLast>);
REGISTER_OP_KERNEL(
    conv2d, ONEDNN, CPUPlace, blocked, KernelTraits(), Conv2d<Blocked>);
REGISTER_OP_KERNEL(
    fused_conv2d, ONEDNN, CPUPlace, direct, KernelTraits(), Conv2d<Direct>);
REGISTER_OP_KERNEL(fused_conv2d,
                   ONEDNN,
                   CPUPlace,
                   channels_last,
                   KernelTraits(),
                   Conv2d<ChannelsLast>);
REGISTER_OP_KERNEL(
    fused_conv2d, ONEDNN, CPUPlace, blocked, KernelTraits(), Conv2d<Blocked>);

}  // namespace sluice::onednn
