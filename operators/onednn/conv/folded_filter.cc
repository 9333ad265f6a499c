#include "sluice/operators/onednn/conv/folded_filter.h"

#include "sluice/operators/fusion/folded_norm.h"
#include "sluice/operators/onednn/packed_reorder.h"
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

}  // namespace

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

}  // namespace sluice::onednn
