#include "tests/operators/harness/op_case.h"
#include "tests/operators/optimizer/optimizer_examples.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice::testing {
namespace {

// Two steps of a scalar from 1, with gradients 1 and 2; mu = rate = 0.5.
std::vector<double> TwoSteps(const AttributeMap& more) {
  AttributeMap attributes = more;
  attributes["mu"] = 0.5;
  const auto d = DType::kFloat64;
  auto param = One(d, 1);
  auto velocity = One(d, 0);
  for (const double grad : {1.0, 2.0}) {
    auto out = RunOp("momentum",
                     {{"Param", param},
                      {"Grad", One(d, grad)},
                      {"Velocity", velocity},
                      {"LearningRate", One(d, 0.5)}},
                     attributes);
    param = out["ParamOut"];
    velocity = out["VelocityOut"];
  }
  return {param.data<double>()[0], velocity.data<double>()[0]};
}

TEST(Momentum, KeepsAVelocity) {
  // Velocity 1, then 2.5; the parameter 0.5, then -0.75.
  EXPECT_EQ(TwoSteps({}), (std::vector<double>{-0.75, 2.5}));
}

TEST(Momentum, NesterovLooksAhead) {
  // The parameter 1 - 0.5 * 1.5 = 0.25, then 0.25 - 0.5 * 3.25.
  EXPECT_EQ(TwoSteps({{"use_nesterov", true}}),
            (std::vector<double>{-1.375, 2.5}));
}

TEST(Momentum, DecaysTheParameter) {
  // Gradients 1 + 1 and 2 + 0; the velocity 2, then 3.
  const std::string l2 = "l2_decay";
  EXPECT_EQ(
      TwoSteps({{"regularization_method", l2}, {"regularization_coeff", 1.0}}),
      (std::vector<double>{-1.5, 3}));
  EXPECT_EQ(TwoSteps({{"regularization_coeff", 1.0}}), TwoSteps({}));
}

TEST(Momentum, RefusesOtherShapesAndMethods) {
  const auto d = DType::kFloat64;
  const auto run = [&](const Tensor& velocity, const std::string& method) {
    RunOp("momentum",
          {{"Param", One(d, 1)},
           {"Grad", One(d, 1)},
           {"Velocity", velocity},
           {"LearningRate", One(d, 1)}},
          {{"mu", 0.9}, {"regularization_method", method}});
  };
  ExpectError(ErrorCode::kInvalidArgument, "infer_shape.merge_dim",
              {"momentum", "Velocity", "[2]"}, [&] {
                run(Tensor::FromVector<double>({2}, {0, 0}), "");
              });
  ExpectError(ErrorCode::kInvalidArgument, "op.attribute_choice",
              {"momentum", "l2_decay", "l3"}, [&] { run(One(d, 0), "l3"); });
}

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
