#include "sluice/operators/fusion/folded_norm.h"

#include <bit>
#include <cmath>

#include "sluice/platform/error.h"

namespace sluice {

std::vector<float> FloatsOf(const Tensor& parameter) {
  if (parameter.dtype() != DType::kBFloat16) {
    return parameter.ToVector<float>();
  }
  const auto* from = parameter.data<bfloat16>();
  std::vector<float> floats(static_cast<size_t>(parameter.numel()));
  for (size_t i = 0; i < floats.size(); ++i) {
    floats[i] = std::bit_cast<float>(uint32_t{from[i].bits} << 16);
  }
  return floats;
}

std::vector<double> NormFactors(const Tensor& scale,
                                const Tensor& variance,
                                double epsilon) {
  const std::vector<float> scales = FloatsOf(scale),
                           variances = FloatsOf(variance);
  std::vector<double> factors(scales.size());
  for (size_t o = 0; o < factors.size(); ++o) {
    factors[o] = scales[o] / std::sqrt(variances[o] + epsilon);
  }
  return factors;
}

namespace {

using Parameters = std::span<const Tensor* const>;

// Packs Scale, Shift, Mean, Variance and, if present, Bias.
class BiasPacking final : public Packing {
 public:
  explicit BiasPacking(double epsilon)
      : Packing(Format("folded bias {}", epsilon)), epsilon_(epsilon) {}

  Tensor Make(Parameters parameters, int /*threads*/) const override {
    const std::vector<float> shift = FloatsOf(*parameters[1]);
    const std::vector<float> mean = FloatsOf(*parameters[2]);
    const auto factors = NormFactors(*parameters[0], *parameters[3], epsilon_);
    const std::vector<float> bias = parameters.size() > 4
                                        ? FloatsOf(*parameters[4])
                                        : std::vector<float>(shift.size(), 0);
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

}  // namespace

bool HasNorm(const OpDesc& op) {
  return !op.Input("Scale").empty();
}

PackingPtr PackFoldedBias(double epsilon) {
  return std::make_shared<const BiasPacking>(epsilon);
}

}  // namespace sluice
