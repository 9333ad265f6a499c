#include "tests/operators/harness/op_case.h"
#include "tests/operators/optimizer/optimizer_examples.h"

namespace sluice::testing {
namespace {

std::vector<OpExample> MomentumExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  for (const bool nesterov : {false, true}) {
    for (OpExample example : UpdateExamples(make, {"Velocity"})) {
      example.attributes = {{"mu", 0.75}, {"use_nesterov", nesterov}};
      if (examples.size() % 2 == 1) {
        example.attributes["regularization_method"] = std::string("l2_decay");
        example.attributes["regularization_coeff"] = 0.125;
      }
      examples.push_back(std::move(example));
    }
  }
  return examples;
}

Arrays MomentumReference(const Arrays& in, const OpDesc& op) {
  Array param = in.at("Param");
  Array velocity = in.at("Velocity");
  const double rate = in.at("LearningRate")(0);
  const auto mu = GetAttr<double>(op, "mu");
  const bool decays =
      GetAttr<std::string>(op, "regularization_method") == "l2_decay";
  for (size_t i = 0; i < param.values.size(); ++i) {
    double grad = in.at("Grad").values[i];
    if (decays) {
      grad += GetAttr<double>(op, "regularization_coeff") * param.values[i];
    }
    velocity.values[i] = mu * velocity.values[i] + grad;
    const bool nesterov = GetAttr<bool>(op, "use_nesterov");
    param.values[i] -=
        rate * (nesterov ? grad + mu * velocity.values[i] : velocity.values[i]);
  }
  return {{"ParamOut", param}, {"VelocityOut", velocity}};
}

REGISTER_OP_CASE(momentum, MomentumExamples, MomentumReference);

}  // namespace
}  // namespace sluice::testing
