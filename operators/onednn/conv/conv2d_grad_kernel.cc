#include "sluice/operators/onednn/conv/conv2d_sizes.h"
#include "sluice/operators/registration.h"

namespace sluice::onednn {
namespace {

using Value = SequenceBuilder::Value;

// oneDNN requires the forward primitive to make the backward ones.
template <typename T>
auto ForwardHint(const ConvSizes& sizes, ConvVariant variant) {
  return [&sizes, variant] {
    constexpr auto kType = kDTypeOf<T>;
    return dnnl::convolution_forward::primitive_desc(
        Engine(), dnnl::prop_kind::forward_training,
        dnnl::algorithm::convolution_direct,
        sizes.WantedImage(sizes.input(), kType, variant),
        sizes.WantedFilter(kType),
        sizes.WantedImage(sizes.output(), kType, variant), sizes.strides(),
        sizes.dilations(), sizes.padding_begin(), sizes.padding_end());
  };
}

template <typename Variant, typename T>
class GradInputSequence final : public ConvSequence<Variant> {
 private:
  void Build(SequenceBuilder& builder) override {
    constexpr auto kType = kDTypeOf<T>;
    constexpr ConvVariant kVariant = Variant::kVariant;
    const ConvSizes sizes(builder.query());
    const auto conv = Compile<dnnl::convolution_backward_data>(
        builder.compile_for(), "convolution_backward_data",
        dnnl::algorithm::convolution_direct,
        sizes.WantedImage(sizes.input(), kType, kVariant),
        sizes.WantedFilter(kType),
        sizes.WantedImage(sizes.output(), kType, kVariant), sizes.strides(),
        sizes.dilations(), sizes.padding_begin(), sizes.padding_end(),
        ForwardHint<T>(sizes, kVariant));

    const Value filter =
        builder.In(builder.Input("Filter", sizes.GivenFilter(kType)),
                   conv->Wants(DNNL_ARG_WEIGHTS));
    const Value grad = builder.In(
        builder.Input("Output@GRAD", sizes.GivenImage(sizes.output(), kType)),
        conv->Wants(DNNL_ARG_DIFF_DST));
    const Value output =
        builder.Output("Input@GRAD", sizes.GivenImage(sizes.input(), kType));
    const Value target = builder.For(output, conv->Wants(DNNL_ARG_DIFF_SRC));
    builder.Add("convolution_backward_data", conv,
                {{DNNL_ARG_WEIGHTS, filter},
                 {DNNL_ARG_DIFF_DST, grad},
                 {DNNL_ARG_DIFF_SRC, target}});
    builder.Deliver(target, output);
  }
};

template <typename Variant, typename T>
class GradFilterSequence final : public ConvSequence<Variant> {
 private:
  void Build(SequenceBuilder& builder) override {
    constexpr auto kType = kDTypeOf<T>;
    constexpr ConvVariant kVariant = Variant::kVariant;
    const ConvSizes sizes(builder.query());
    const bool has_bias = builder.HasOutput("Bias@GRAD");
    const Desc bias =
        has_bias ? Desc({sizes.geometry.out_c}, ToDnnl(kType), Tag::a) : Desc();
    const auto conv = Compile<dnnl::convolution_backward_weights>(
        builder.compile_for(), "convolution_backward_weights",
        dnnl::algorithm::convolution_direct,
        sizes.WantedImage(sizes.input(), kType, kVariant),
        sizes.WantedFilter(kType), bias,
        sizes.WantedImage(sizes.output(), kType, kVariant), sizes.strides(),
        sizes.dilations(), sizes.padding_begin(), sizes.padding_end(),
        ForwardHint<T>(sizes, kVariant));

    const Value input = builder.In(
        builder.Input("Input", sizes.GivenImage(sizes.input(), kType)),
        conv->Wants(DNNL_ARG_SRC));
    const Value grad = builder.In(
        builder.Input("Output@GRAD", sizes.GivenImage(sizes.output(), kType)),
        conv->Wants(DNNL_ARG_DIFF_DST));
    const Desc wanted = conv->Wants(DNNL_ARG_DIFF_WEIGHTS);
    const bool has_filter = builder.HasOutput("Filter@GRAD");
    const Value output =
        has_filter ? builder.Output("Filter@GRAD", sizes.GivenFilter(kType))
                   : builder.Temporary(wanted);
    const Value target = builder.For(output, wanted);
    std::vector<std::pair<int, Value>> arguments = {
        {DNNL_ARG_SRC, input},
        {DNNL_ARG_DIFF_DST, grad},
        {DNNL_ARG_DIFF_WEIGHTS, target}};
    if (has_bias) {
      arguments.emplace_back(DNNL_ARG_DIFF_BIAS,
                             builder.Output("Bias@GRAD", bias));
    }
    builder.Add("convolution_backward_weights", conv, std::move(arguments));
    builder.Deliver(target, output);
  }
};

template <typename Variant>
using GradInput = GradInputSequence<Variant, float>;
template <typename Variant>
using GradFilter = GradFilterSequence<Variant, float>;

}  // namespace

REGISTER_OP_KERNEL(conv2d_grad_input,
                   ONEDNN,
                   CPUPlace,
                   direct,
                   KernelTraits(),
                   GradInput<Direct>);
REGISTER_OP_KERNEL(conv2d_grad_input,
                   ONEDNN,
                   CPUPlace,
                   channels_last,
                   KernelTraits(),
                   GradInput<ChannelsLast>);
REGISTER_OP_KERNEL(conv2d_grad_input,
                   ONEDNN,
                   CPUPlace,
                   blocked,
                   KernelTraits(),
                   GradInput<Blocked>);
REGISTER_OP_KERNEL(conv2d_grad_filter,
                   ONEDNN,
                   CPUPlace,
                   direct,
                   KernelTraits(),
                   GradFilter<Direct>);
REGISTER_OP_KERNEL(conv2d_grad_filter,
                   ONEDNN,
                   CPUPlace,
                   channels_last,
                   KernelTraits(),
                   GradFilter<ChannelsLast>);
REGISTER_OP_KERNEL(conv2d_grad_filter,
                   ONEDNN,
                   CPUPlace,
                   blocked,
                   KernelTraits(),
                   GradFilter<Blocked>);

}  // namespace sluice::onednn
