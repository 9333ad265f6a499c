#include <cmath>

#include "tests/operators/harness/op_case.h"
#include "tests/operators/optimizer/optimizer_examples.h"

namespace sluice::testing {
namespace {

std::vector<OpExample> AdamExamples(ExampleMaker& make) {
  std::vector<OpExample> examples =
      UpdateExamples(make, {"Moment1", "Moment2"});
  int step = 1;
  for (OpExample& example : examples) {
    // Kernels and reference begin with the same rounded powers.
    const DType d = make.dtype();
    const Tensor rate = example.inputs.back().second;
    example.inputs.back() = {"Beta1Pow", One(d, std::pow(0.875, step))};
    example.inputs.emplace_back("Beta2Pow", One(d, std::pow(0.96875, step)));
    example.inputs.emplace_back("LearningRate", rate);
    example.attributes = {
        {"beta1", 0.875}, {"beta2", 0.96875}, {"epsilon", 0.0078125}};
    if (step % 2 == 0) example.attributes["formula"] = std::string("fluid");
    step = 3 * step + 1;
  }
  return examples;
}

Arrays AdamReference(const Arrays& in, const OpDesc& op) {
  Array param = in.at("Param");
  Array moment1 = in.at("Moment1");
  Array moment2 = in.at("Moment2");
  Array power1 = in.at("Beta1Pow");
  Array power2 = in.at("Beta2Pow");
  const auto beta1 = GetAttr<double>(op, "beta1");
  const auto beta2 = GetAttr<double>(op, "beta2");
  auto epsilon = GetAttr<double>(op, "epsilon");
  if (GetAttr<std::string>(op, "formula") == "fluid") {
    epsilon /= std::sqrt(1 - power2(0));
  }
  for (size_t i = 0; i < param.values.size(); ++i) {
    const double grad = in.at("Grad").values[i];
    moment1.values[i] = beta1 * moment1.values[i] + (1 - beta1) * grad;
    moment2.values[i] = beta2 * moment2.values[i] + (1 - beta2) * grad * grad;
    const double m = moment1.values[i] / (1 - power1(0));
    const double v = moment2.values[i] / (1 - power2(0));
    param.values[i] -= in.at("LearningRate")(0) * m / (std::sqrt(v) + epsilon);
  }
  power1(0) *= beta1;
  power2(0) *= beta2;
  return {{"ParamOut", param},
          {"Moment1Out", moment1},
          {"Moment2Out", moment2},
          {"Beta1PowOut", power1},
          {"Beta2PowOut", power2}};
}

REGISTER_OP_CASE(adam, AdamExamples, AdamReference);

}  // namespace
}  // namespace sluice::testing
