#include "sluice/operators/onednn/fusion/folded_norm.h"

#include <bit>
#include <cmath>

#include "sluice/platform/error.h"

namespace sluice::operators::onednn {

using framework::Tensor;
using platform::bfloat16;

namespace {

using Parameters = std::span<const Tensor* const>;
using Floats = std::vector<float>;

Floats FloatsOf(const Tensor& parameter) {
  if (parameter.dtype() != platform::DType::kBFloat16) {
    return parameter.ToVector<float>();
  }
  const auto* from = parameter.data<bfloat16>();
  Floats floats(static_cast<size_t>(parameter.numel()));
  for (size_t i = 0; i < floats.size(); ++i) {
    floats[i] = std::bit_cast<float>(uint32_t{from[i].bits} << 16);
  }
  return floats;
}

// What each output channel is multiplied by.
std::vector<double> Factors(const Tensor& scale,
                            const Tensor& variance,
                            double epsilon) {
  const Floats scales = FloatsOf(scale), variances = FloatsOf(variance);
  std::vector<double> factors(scales.size());
  for (size_t o = 0; o < factors.size(); ++o) {
    factors[o] = scales[o] / std::sqrt(variances[o] + epsilon);
  }
  return factors;
}

// Of Filter, Scale and Variance.
class FilterPacking final : public Packing {
 public:
  // The address names the reorder for as long as this lives.
  FilterPacking(double epsilon, CompiledPtr reorder)
      : Packing(platform::Format("folded filter {} {}",
                                 epsilon,
                                 reinterpret_cast<uintptr_t>(reorder.get()))),
        epsilon_(epsilon),
        reorder_(std::move(reorder)) {}

  Tensor Make(Parameters parameters, int threads) const override {
    Floats filter = FloatsOf(*parameters[0]);
    const auto factors = Factors(*parameters[1], *parameters[2], epsilon_);
    const size_t size = filter.size() / factors.size();
    for (size_t i = 0; i < filter.size(); ++i) {
      filter[i] = static_cast<float>(filter[i] * factors[i / size]);
    }
    Tensor packed = PackedBytes(reorder_->Wants(DNNL_ARG_DST).get_size());
    RunReorder(*reorder_, filter.data(), packed.raw_data(), threads);
    return packed;
  }

 private:
  double epsilon_;
  CompiledPtr reorder_;
};

// Of Scale, Shift, Mean, Variance, and Bias where there is one.
class BiasPacking final : public Packing {
 public:
  explicit BiasPacking(double epsilon)
      : Packing(platform::Format("folded bias {}", epsilon)),
        epsilon_(epsilon) {}

  Tensor Make(Parameters parameters, int /*threads*/) const override {
    const Floats shift = FloatsOf(*parameters[1]);
    const Floats mean = FloatsOf(*parameters[2]);
    const auto factors = Factors(*parameters[0], *parameters[3], epsilon_);
    const Floats bias = parameters.size() > 4 ? FloatsOf(*parameters[4])
                                              : Floats(shift.size(), 0);
    Tensor packed = PackedBytes(shift.size() * sizeof(float));
    auto* folded = static_cast<float*>(packed.raw_data());
    for (size_t o = 0; o < shift.size(); ++o) {
      folded[o] = static_cast<float>(
          (static_cast<double>(bias[o]) - mean[o]) * factors[o] + shift[o]);
    }
    return packed;
  }

 private:
  double epsilon_;
};

double Epsilon(const SequenceBuilder& builder) {
  return builder.query().Attr<double>("epsilon");
}

}  // namespace

bool HasNorm(const SequenceBuilder& builder) {
  return builder.HasInput("Scale");
}

SequenceBuilder::Value FoldedFilter(SequenceBuilder& builder,
                                    const Desc& given,
                                    const Desc& wanted) {
  const CompileFor plain{builder.compile_for().op,
                         builder.compile_for().threads};
  const Desc floats(given.get_dims(), Memory::data_type::f32,
                    given.get_strides());
  return builder.Packed(
      std::make_shared<const FilterPacking>(
          Epsilon(builder), CompileReorder(plain, floats, wanted)),
      {"Filter", "Scale", "Variance"}, wanted);
}

SequenceBuilder::Value FoldedBias(SequenceBuilder& builder, const Desc& bias) {
  std::vector<std::string_view> inputs = {"Scale", "Shift", "Mean", "Variance"};
  if (builder.HasInput("Bias")) inputs.emplace_back("Bias");
  return builder.Packed(std::make_shared<const BiasPacking>(Epsilon(builder)),
                        inputs, bias);
}

}  // namespace sluice::operators::onednn
