#include <cmath>

#include "tests/operators/harness/op_case.h"
#include "tests/operators/optimizer/optimizer_examples.h"
#include <gtest/gtest.h>

namespace sluice::testing {
namespace {

std::vector<OpExample> AdagradExamples(ExampleMaker& make) {
  std::vector<OpExample> examples = UpdateExamples(make, {"Moment"});
  for (OpExample& example : examples) {
    example.attributes = {{"epsilon", 0.0078125}};
  }
  return examples;
}

Arrays AdagradReference(const Arrays& in, const OpDesc& op) {
  Array param = in.at("Param");
  Array moment = in.at("Moment");
  for (size_t i = 0; i < param.values.size(); ++i) {
    const double grad = in.at("Grad").values[i];
    moment.values[i] += grad * grad;
    param.values[i] -=
        in.at("LearningRate")(0) * grad /
        (std::sqrt(moment.values[i]) + GetAttr<double>(op, "epsilon"));
  }
  return {{"ParamOut", param}, {"MomentOut", moment}};
}

REGISTER_OP_CASE(adagrad, AdagradExamples, AdagradReference);

}  // namespace
}  // namespace sluice::testing
