#include <cstring>
#include <string_view>
#include <utility>

#include "sluice/framework/run/run_op.h"
#include "sluice/operators/chain/chain_steps.h"
#include "sluice/operators/registration.h"

// The reference for kernels of fused ops: runs the original ops one after the
// other, by their plain kernels.
namespace sluice {
namespace {

std::string ComparesOnly(const KernelQuery& /*query*/) {
  return "is there to compare others with";
}

KernelTraits NeverTaken() {
  return KernelTraits().When(ComparesOnly);
}

Tensor RunPlain(const std::string& op,
                const std::vector<std::pair<std::string, Tensor>>& inputs,
                const AttributeMap& attributes = {}) {
  const std::string& output = Registry::Global().Schema(op).outputs()[0].name;
  return RunOp(op, inputs, attributes, {.hint = "require variant=plain"})
      .at(output);
}

// T is the dtype that the kernel is registered for.
template <typename T>
class FusedReference final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    op_ = preparation.query.op;
  }

  void Compute(OpKernelContext& context) const override {
    constexpr std::string_view kPrefix = "fused_";
    const OpSchema& first =
        Registry::Global().Schema(op_.type.substr(kPrefix.size()));
    std::vector<std::pair<std::string, Tensor>> inputs;
    for (const auto& input : first.inputs()) {
      if (!context.HasInput(input.name)) continue;
      inputs.emplace_back(input.name, context.Input(input.name));
    }
    AttributeMap attributes;
    for (const auto& attribute : first.attributes()) {
      const auto given = op_.attributes.find(attribute.name);
      if (given != op_.attributes.end()) attributes.insert(*given);
    }
    Tensor value = RunPlain(first.name(), inputs, attributes);
    value = first.name() == "conv2d" ? Normalized(value, context)
                                     : WithBias(value, context);
    for (const ChainOp& step : ChainOps(op_)) {
      value = Stepped(value, step, context);
    }
    Tensor& output = context.AllocateOutput(0, value.dims());
    if (value.bytes() == 0) return;
    std::memcpy(output.raw_data(), std::as_const(value).raw_data(),
                value.bytes());
  }

 private:
  static Tensor WithBias(const Tensor& product,
                         const OpKernelContext& context) {
    if (!context.HasInput("Bias")) return product;
    return RunPlain("elementwise_add",
                    {{"X", product}, {"Y", context.Input("Bias")}},
                    {{"axis", int64_t{product.dims().rank() - 1}}});
  }

  Tensor Normalized(const Tensor& convolved,
                    const OpKernelContext& context) const {
    if (!context.HasInput("Scale")) return convolved;
    return RunPlain("batch_norm",
                    {{"X", convolved},
                     {"Scale", context.Input("Scale")},
                     {"Bias", context.Input("Shift")},
                     {"Mean", context.Input("Mean")},
                     {"Variance", context.Input("Variance")}},
                    {{"is_test", true},
                     {"epsilon", op_.attributes.at("epsilon")},
                     {"data_format", op_.attributes.at("data_format")}});
  }

  static Tensor Stepped(const Tensor& value,
                        const ChainOp& step,
                        const OpKernelContext& context) {
    std::vector<std::pair<std::string, Tensor>> inputs = {{"X", value}};
    if (step.operand >= 0) {
      inputs.emplace_back("Y", *context.Inputs("Operands")[step.operand]);
    }
    return RunPlain(step.type, inputs, step.attributes);
  }

  OpDesc op_;
};
using Reference = FusedReference<FloatTypes>;

}  // namespace

REGISTER_OP_KERNEL(
    fused_conv2d, PLAIN, CPUPlace, reference, NeverTaken(), Reference);
REGISTER_OP_KERNEL(
    fused_mul, PLAIN, CPUPlace, reference, NeverTaken(), Reference);
REGISTER_OP_KERNEL(
    fused_matmul, PLAIN, CPUPlace, reference, NeverTaken(), Reference);

}  // namespace sluice
