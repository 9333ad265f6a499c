#pragma once

#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "sluice/operators/chain/chain_steps.h"
#include "sluice/operators/conv/conv2d_kernel.h"
#include "sluice/operators/fusion/folded_norm.h"
#include "sluice/operators/math/chain/chain.h"
#include "sluice/operators/packed_weights.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/alignment.h"
#include "sluice/platform/parallel_for.h"

// Float kernels of conv2d and fused_conv2d that store filters in a packed form.
namespace sluice {

inline bool HasConstantFilter(const KernelQuery& query) {
  return query.input_constant.size() > 1 && query.input_constant[1] != 0;
}

// Method is the algorithm:
//   using Plan = ...;  // with packed_size(), in floats
//   static Plan MakePlan(const Conv2dGeometry& g, int num_threads);
//   static std::string Name();  // the name of the packed form
//   static size_t ScratchBytes(const Plan& plan);
//   static void Pack(plan, filter, factors, packed);
//   static void Run(plan, input, PackedFilter, bias, chain, output, scratch);
//   static std::string Refusal(query);  // "", or what it does not compute
//   static KernelWork Work(query);
template <typename Method>
class FilterPacking final : public Packing {
 public:
  using Plan = typename Method::Plan;

  // Packs Filter, scaled by Scale and Variance if there is a batch norm.
  FilterPacking(const Plan& plan, std::optional<double> epsilon)
      : Packing(Format("{} {} to {}{}",
                       Method::Name(),
                       plan.g.in_c,
                       plan.g.out_c,
                       epsilon ? Format(" {}", *epsilon) : std::string())),
        plan_(plan),
        epsilon_(epsilon) {}

  // Returns the byte offset of the factors, double [out channels].
  static size_t FactorsAt(const Plan& plan) {
    return AlignUp(static_cast<size_t>(plan.packed_size()) * sizeof(float));
  }

  Tensor Make(std::span<const Tensor* const> parameters,
              int threads) const override {
    std::vector<double> factors;
    if (epsilon_) {
      factors = NormFactors(*parameters[1], *parameters[2], *epsilon_);
    }
    const size_t at = FactorsAt(plan_);
    Tensor packed = PackedBytes(at + factors.size() * sizeof(double));
    auto* bytes = static_cast<std::byte*>(packed.raw_data());
    const ThreadCountGuard guard(threads);
    Method::Pack(plan_, parameters[0]->data<float>(),
                 epsilon_ ? factors.data() : nullptr,
                 reinterpret_cast<float*>(bytes));
    std::copy(factors.begin(), factors.end(),
              reinterpret_cast<double*>(bytes + at));
    return packed;
  }

 private:
  Plan plan_;
  std::optional<double> epsilon_;
};

// T is the dtype that the kernel is registered for.
template <typename Method, typename T>
class PackedConv2dKernel final : public OpKernel {
 public:
  explicit PackedConv2dKernel(const OpKernelConstruction& /*construction*/) {}

  static KernelTraits AdaptTraits(KernelTraits traits) {
    return traits.Estimate(&EstimatedWork).When(&Method::Refusal);
  }

  void Prepare(KernelPreparation& preparation) override {
    const KernelQuery& query = preparation.query;
    const int threads = preparation.num_threads;
    plan_ = Method::MakePlan(Conv2dGeometryOf(query), threads);
    dims_ = query.outputs[0];
    preparation.scratch_bytes = Method::ScratchBytes(plan_);
    std::optional<double> epsilon;
    if (HasNorm(query.op)) {
      epsilon = query.Attr<double>("epsilon");
      bias_.emplace(PackFoldedBias(*epsilon), threads);
    }
    if (epsilon || HasConstantFilter(query)) {
      filter_.emplace(
          std::make_shared<const FilterPacking<Method>>(plan_, epsilon),
          threads);
    } else {
      // Filters that are not constant are packed in each call.
      packed_at_ = AlignUp(preparation.scratch_bytes);
      preparation.scratch_bytes =
          packed_at_ + FilterPacking<Method>::FactorsAt(plan_);
    }
    if (StepsOf(query.op).empty()) return;
    chain_ = ReadChain<T>(query);
    first_operand_ = query.inputs.size() - chain_.operands();
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& input = context.Input("Input");
    Tensor& output = context.AllocateOutput("Output", dims_);
    if (output.numel() == 0) return;
    std::shared_ptr<const PackedWeights> packed, folded;
    const PackedFilter filter = FilterOf(context, &packed);
    const T* bias = BiasOf(context, &folded);
    const auto operands =
        ChainOperandsOf<T>(context, first_operand_, chain_.operands());
    const OutputChain<T> chain{chain_.empty() ? nullptr : &chain_, operands};
    Method::Run(plan_, input.data<T>(), filter, bias, chain, output.data<T>(),
                context.scratch());
  }

 private:
  using Kept = std::shared_ptr<const PackedWeights>;

  static KernelWork EstimatedWork(const KernelQuery& query) {
    KernelWork work = Method::Work(query);
    work.extra_bytes += OperandBytes(query);
    return work;
  }

  PackedFilter FilterOf(const OpKernelContext& context, Kept* kept) const {
    const Tensor& filter = context.Input("Filter");
    if (!filter_) {
      auto* packed = reinterpret_cast<T*>(
          static_cast<std::byte*>(context.scratch()) + packed_at_);
      Method::Pack(plan_, filter.data<T>(), nullptr, packed);
      return {filter.data<T>(), nullptr, packed};
    }
    if (!bias_) {
      *kept = filter_->Get(std::array{&filter});
      return {filter.data<T>(), nullptr,
              static_cast<const T*>((*kept)->data())};
    }
    *kept = filter_->Get(std::array{&filter, &context.Input("Scale"),
                                    &context.Input("Variance")});
    const auto* bytes = static_cast<const std::byte*>((*kept)->data());
    return {filter.data<T>(),
            reinterpret_cast<const double*>(
                bytes + FilterPacking<Method>::FactorsAt(plan_)),
            reinterpret_cast<const T*>(bytes)};
  }

  const T* BiasOf(const OpKernelContext& context, Kept* kept) const {
    const Tensor* bias =
        context.HasInput("Bias") ? &context.Input("Bias") : nullptr;
    if (!bias_) return bias == nullptr ? nullptr : bias->data<T>();
    const std::array parameters = {
        &context.Input("Scale"), &context.Input("Shift"),
        &context.Input("Mean"), &context.Input("Variance"), bias};
    *kept = bias_->Get(std::span(parameters).first(bias == nullptr ? 4 : 5));
    return static_cast<const T*>((*kept)->data());
  }

  typename Method::Plan plan_;
  DDim dims_;
  std::optional<KeptWeights> filter_;  // none: packed in each call
  size_t packed_at_ = 0;               // their offset in scratch then
  std::optional<KeptWeights> bias_;    // with a batch norm
  Chain<T> chain_;
  size_t first_operand_ = 0;
};

}  // namespace sluice
