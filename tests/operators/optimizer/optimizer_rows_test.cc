#include <string>
#include <utility>
#include <vector>

#include "tests/operators/optimizer/one.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"
#include "sluice/operators/optimizer/optimizer_row.h"

// What all optimizers do alike.
namespace sluice::testing {
namespace {

// Inputs of one element for a row, and whether the step is skipped.
std::vector<std::pair<std::string, Tensor>> SmallInputs(
    const OptimizerInfo& info, bool skip) {
  const auto d = DType::kFloat64;
  std::vector<std::pair<std::string, Tensor>> inputs = {
      {"Param", One(d, 2)}, {"Grad", One(d, 3)}, {"LearningRate", One(d, 0.5)}};
  for (const OptimizerState& state : info.states) {
    if (state.name != nullptr) inputs.emplace_back(state.name, One(d, 5));
  }
  for (const OptimizerPower& power : info.powers) {
    if (power.name != nullptr) inputs.emplace_back(power.name, One(d, 0.75));
  }
  inputs.emplace_back("SkipUpdate", Tensor::FromVector<bool>({1}, {skip}));
  return inputs;
}

TEST(OptimizerRows, ASkippedStepChangesNothing) {
  for (const OptimizerRow& row : OptimizerRows()) {
    for (const bool skip : {true, false}) {
      const auto inputs = SmallInputs(row.info, skip);
      auto out = RunOp(row.info.name, inputs);
      bool same = true;
      for (const auto& [name, tensor] : inputs) {
        if (name == "Grad" || name == "LearningRate" || name == "SkipUpdate") {
          continue;
        }
        same = same &&
               out[name + "Out"].data<double>()[0] == tensor.data<double>()[0];
      }
      EXPECT_EQ(same, skip) << row.info.name;
    }
  }
}

TEST(OptimizerRows, SkipUpdateIsOneBool) {
  auto inputs = SmallInputs(OptimizerRows()[0].info, true);
  inputs.back().second = Tensor::FromVector<bool>({2}, {true, false});
  ExpectError(ErrorCode::kInvalidArgument, "infer_shape.merge_dim",
              {"SkipUpdate", "[2]"},
              [&] { RunOp(OptimizerRows()[0].info.name, inputs); });
}

// A parameter of zeros moves by the plain rate, not by 0 or NaN.
TEST(OptimizerRows, NormsOfZeroCountAsOne) {
  const auto d = DType::kFloat64;
  auto out = RunOp("lars_momentum", {{"Param", One(d, 0)},
                                     {"Grad", One(d, 4)},
                                     {"Velocity", One(d, 0)},
                                     {"LearningRate", One(d, 0.5)}});
  EXPECT_EQ(out["ParamOut"].data<double>()[0], -2);
  out = RunOp("lamb", {{"Param", One(d, 0)},
                       {"Grad", One(d, 4)},
                       {"Moment1", One(d, 0)},
                       {"Moment2", One(d, 0)},
                       {"Beta1Pow", One(d, 0.9)},
                       {"Beta2Pow", One(d, 0.999)},
                       {"LearningRate", One(d, 0.5)}});
  EXPECT_NEAR(out["ParamOut"].data<double>()[0], -0.5, 1e-6);
}

TEST(OptimizerRows, FtrlMakesSmallParametersZero) {
  const auto d = DType::kFloat64;
  auto out = RunOp("ftrl",
                   {{"Param", One(d, 0)},
                    {"Grad", One(d, 0.5)},
                    {"SquaredAccumulator", One(d, 0)},
                    {"LinearAccumulator", One(d, 0)},
                    {"LearningRate", One(d, 0.5)}},
                   {{"l1", 1.0}});
  EXPECT_EQ(out["ParamOut"].data<double>()[0], 0);
}

}  // namespace
}  // namespace sluice::testing
