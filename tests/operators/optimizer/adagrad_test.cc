#include <cmath>

#include "tests/operators/harness/op_case.h"
#include "tests/operators/optimizer/optimizer_examples.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice::testing {
namespace {

TEST(Adagrad, StepsGetShorter) {
  const auto d = DType::kFloat64;
  auto param = One(d, 0);
  auto moment = One(d, 0);
  std::vector<double> steps;
  for (int step = 0; step < 3; ++step) {
    auto out = RunOp("adagrad",
                     {{"Param", param},
                      {"Grad", One(d, -4)},
                      {"Moment", moment},
                      {"LearningRate", One(d, 0.5)}},
                     {{"epsilon", 0.0}});
    steps.push_back(out["ParamOut"].data<double>()[0] -
                    param.data<double>()[0]);
    param = out["ParamOut"];
    moment = out["MomentOut"];
  }
  EXPECT_DOUBLE_EQ(steps[0], 0.5);
  EXPECT_DOUBLE_EQ(steps[1], 0.5 / std::sqrt(2));
  EXPECT_DOUBLE_EQ(steps[2], 0.5 / std::sqrt(3));
  EXPECT_EQ(moment.data<double>()[0], 48);
}

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
