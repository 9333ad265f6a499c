#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/op/registry.h"
#include "sluice/nn.h"
#include "sluice/sluice.h"

namespace sluice {
namespace {

using testing::ExpectError;
using Floats = std::vector<float>;

class OptimizerTest : public ::testing::Test {
 protected:
  // loss = the mean of w * x, so that w's gradient is x / 2.
  Var Loss() {
    const Var x = program_.Data("x", DType::kFloat32, {2});
    nn::LayerHelper layer("layer", x, "", SourceLocation::Here());
    const Var w = layer.Parameter({.name = "w", .initializer = nn::Constant(1)},
                                  {2}, DType::kFloat32);
    return ops::Mean(ops::ElementwiseMul(w, x));
  }
  void Start() { executor_.Run(startup_, {}, {}, &scope_); }
  Floats Value(const std::string& name) {
    return scope_.FindVar(name)->Get<Tensor>()->ToVector<float>();
  }
  double Power(const std::string& name) {
    return scope_.FindVar(name)->Get<Tensor>()->ToVector<double>()[0];
  }
  // w after `steps` steps with the gradient {1, -2}.
  Floats Train(int steps) {
    const Tensor x = Tensor::FromVector<float>({2}, {2, -4});
    for (int step = 0; step < steps; ++step) {
      executor_.Run(program_, {{"x", x}}, {}, &scope_);
    }
    return Value("w");
  }

  Program program_;
  nn::Startup startup_;
  Scope scope_;
  Executor executor_;
};

TEST_F(OptimizerTest, SgdTakesTheGradientTimesTheRate) {
  const auto moved = nn::Sgd(0.25).Minimize(Loss());
  ASSERT_EQ(moved.size(), 1u);
  EXPECT_EQ(moved[0].param, "w");
  Start();
  EXPECT_EQ(Train(2), Floats({0.5F, 2}));
  *scope_.FindVar("sgd_0.learning_rate_0")->GetMutable<Tensor>() =
      Tensor::FromVector<float>({1}, {1});
  EXPECT_EQ(Train(1), Floats({-0.5F, 4}));
}

TEST_F(OptimizerTest, MomentumKeepsAVelocity) {
  nn::Momentum(0.25, {.momentum = 0.5}).Minimize(Loss());
  Start();
  // Velocities of the first element: 1, then 1.5.
  EXPECT_EQ(Train(2), Floats({1 - 0.25F * 2.5F, 1 + 0.25F * 5}));
  EXPECT_EQ(Value("w.momentum_0.velocity_0"), Floats({1.5F, -3}));
}

TEST_F(OptimizerTest, NesterovLooksAhead) {
  nn::Momentum(0.25, {.momentum = 0.5, .use_nesterov = true}).Minimize(Loss());
  Start();
  EXPECT_EQ(Train(1), Floats({1 - 0.25F * 1.5F, 1 + 0.25F * 3}));
}

TEST_F(OptimizerTest, AdamsPowersStartAsItsFactors) {
  nn::Adam({.learning_rate = 0.125, .beta1 = 0.5, .beta2 = 0.75})
      .Minimize(Loss());
  Start();
  // With constant gradients, Kingma and Ba's m / sqrt(v) is the sign.
  const Floats w = Train(2);
  EXPECT_NEAR(w[0], 0.75F, 1e-5);
  EXPECT_NEAR(w[1], 1.25F, 1e-5);
  EXPECT_EQ(Value("w.adam_0.moment1_0"), Floats({0.75F, -1.5F}));
  EXPECT_EQ(Power("w.adam_0.beta1_pow_0"), 0.125);
  EXPECT_EQ(Power("w.adam_0.beta2_pow_0"), 0.421875);
}

TEST_F(OptimizerTest, AdamsFirstStepIsTheRateForFactorsNear1) {
  nn::Adam({.learning_rate = 0.125, .beta1 = 0.9999, .beta2 = 0.99999})
      .Minimize(Loss());
  Start();
  EXPECT_NEAR(Train(1)[0], 0.875F, 1e-6);
}

TEST_F(OptimizerTest, AnOpMakesAnOptimizer) {
  nn::Optimizer{.op = "adagrad", .learning_rate = 0.5, .first = 3, .name = "a"}
      .Minimize(Loss());
  // Powers that the attributes leave out start as the ops' defaults.
  nn::Optimizer{.op = "adam"}.Minimize(
      ops::Mean(ops::Square(program_.Find("w"))));
  Start();
  EXPECT_EQ(Value("w.a.moment_0"), Floats({3, 3}));
  EXPECT_EQ(Power("w.adam_0.beta1_pow_0"), 0.9);
  Train(1);
  // The square of 1, and of the gradient.
  EXPECT_EQ(Value("w.a.moment_0"), Floats({4, 7}));
}

TEST_F(OptimizerTest, AdagradDividesByTheSizeOfGradients) {
  nn::Adagrad(0.5, 0).Minimize(Loss());
  Start();
  EXPECT_EQ(Train(1), Floats({0.5F, 1.5F}));
}

TEST_F(OptimizerTest, EveryOptimizerMovesAgainstTheGradient) {
  int tried = 0;
  for (const std::string& op : Registry::Global().OpNames()) {
    const OpSchema& schema = Registry::Global().Schema(op);
    if (schema.internal() || schema.FindInput("Param") == nullptr ||
        schema.FindInput("LearningRate") == nullptr) {
      continue;
    }
    nn::Optimizer optimizer = {.op = op, .learning_rate = 0.1};
    for (const AttrDef& attribute : schema.attributes()) {
      if (!attribute.default_value) optimizer.attributes[attribute.name] = 0.9;
    }
    Program program;
    nn::Startup startup;
    const Var x = program.Data("x", DType::kFloat32, {2});
    nn::LayerHelper layer("layer", x, "", SourceLocation::Here());
    const Var w =
        layer.Parameter({.initializer = nn::Constant(1)}, {2}, DType::kFloat32);
    optimizer.Minimize(ops::Mean(ops::ElementwiseMul(w, x)));
    Scope scope;
    executor_.Run(startup, {}, {}, &scope);
    executor_.Run(program, {{"x", Tensor::FromVector<float>({2}, {2, -4})}}, {},
                  &scope);
    const Floats moved =
        scope.FindVar(w.name())->Get<Tensor>()->ToVector<float>();
    EXPECT_LT(moved[0], 1) << op;
    EXPECT_NE(moved[1], 1) << op;
    EXPECT_GT(moved[1], moved[0]) << op;
    ++tried;
  }
  EXPECT_GE(tried, 4);
}

// The gradient {1, -2} has norm sqrt(5).
TEST_F(OptimizerTest, ClipsByTheGlobalNorm) {
  nn::Optimizer sgd = nn::Sgd(1);
  sgd.clip_norm = 0.5;
  sgd.Minimize(Loss());
  Start();
  const Floats w = Train(1);
  const float factor = 0.5F / std::sqrt(5.0F);
  EXPECT_FLOAT_EQ(w[0], 1 - factor);
  EXPECT_FLOAT_EQ(w[1], 1 + 2 * factor);
}

TEST_F(OptimizerTest, RefusesAClipBelow0) {
  nn::Optimizer sgd = nn::Sgd(1);
  sgd.clip_norm = -1;
  ExpectError(ErrorCode::kInvalidArgument, "nn.clip_norm", {"sgd", "-1"},
              [&] { sgd.Minimize(Loss()); });
}

// Trains a table of ones by the ids 2, 0 and 2.
class TableTest : public OptimizerTest {
 protected:
  Floats TrainTable(const nn::Optimizer& optimizer, bool is_sparse) {
    const Var ids = program_.Data("ids", DType::kInt64, {3});
    const Var rows = nn::Embedding(
        ids, 4, 2,
        {.table = {.name = "table", .initializer = nn::Constant(1)},
         .is_sparse = is_sparse});
    optimizer.Minimize(ops::ReduceSum(ops::Square(rows)));
    Start();
    for (int step = 0; step < 2; ++step) {
      executor_.Run(program_,
                    {{"ids", Tensor::FromVector<int64_t>({3}, {2, 0, 2})}}, {},
                    &scope_);
    }
    return Value("table");
  }
};

TEST_F(TableTest, ASparseGradientMovesItsRows) {
  EXPECT_EQ(TrainTable(nn::Sgd(0.125), true),
            Floats({0.5625F, 0.5625F, 1, 1, 0.25F, 0.25F, 1, 1}));
}

TEST_F(TableTest, AdamIsLazyOnRequest) {
  const Floats table = TrainTable(nn::Adam({.lazy_mode = true}), true);
  EXPECT_LT(table[0], 1);
  EXPECT_EQ(table[2], 1);
  const OpDesc& step = program_.block().ops.back();
  EXPECT_EQ(step.type, "adam");
  EXPECT_FALSE(step.Input("Rows").empty());
}

TEST_F(TableTest, OthersTakeADenseGradient) {
  TrainTable(nn::Adam(), true);
  EXPECT_TRUE(program_.block().ops.back().Input("Rows").empty());
}

TEST_F(TableTest, ClipsTheMergedGradient) {
  nn::Optimizer sgd = nn::Sgd(1);
  sgd.clip_norm = 1;
  const Floats table = TrainTable(sgd, true);
  // Row 2 has twice the gradient of row 0, and both together norm 1.
  const float first = 1 - 1 / std::sqrt(10.0F);
  const float second = 1 - 2 / std::sqrt(10.0F);
  const float norm = std::sqrt(2 * (4 * first * first + 16 * second * second));
  EXPECT_NEAR(table[0], first - 2 * first / norm, 1e-6);
  EXPECT_NEAR(table[4], second - 4 * second / norm, 1e-6);
}

TEST_F(OptimizerTest, AScheduleGivesTheRate) {
  const Var loss = Loss();
  const Var rate =
      ops::ExponentialDecay(nn::StepCounter(program_), 0.5, 1, 0.5);
  EXPECT_EQ(nn::StepCounter(program_).name(), "learning_rate_step_0");
  Program other;  // counts its own runs
  EXPECT_EQ(nn::StepCounter(other).name(), "learning_rate_step_1");
  nn::Optimizer{.op = "sgd", .schedule = rate}.Minimize(loss);
  EXPECT_EQ(program_.purpose(), OpPurpose::kForward);
  Start();
  EXPECT_EQ(Train(1), Floats({0.5F, 2}));
  EXPECT_EQ(Train(1), Floats({0.25F, 2.5F}));
}

TEST_F(OptimizerTest, OneProgramMayHaveTwoOptimizers) {
  nn::Sgd(0.25).Minimize(Loss());
  nn::LayerHelper layer("other", program_, "", SourceLocation::Here());
  const Var v = layer.Parameter({.name = "v", .initializer = nn::Constant(1)},
                                {2}, DType::kFloat64);
  nn::Sgd(0.5).Minimize(ops::Mean(ops::Square(v)));
  Start();
  EXPECT_EQ(Train(1), Floats({0.75F, 1.5F}));
  EXPECT_EQ(program_.FindVar("sgd_1.learning_rate_0").dtype, DType::kFloat64);
  EXPECT_EQ(program_.purpose(), OpPurpose::kForward);
}

TEST_F(OptimizerTest, SomeParametersMayBeMoved) {
  const Var loss = Loss();
  nn::LayerHelper layer("other", program_, "", SourceLocation::Here());
  const Var v = layer.Parameter({.name = "v"}, {1, 1}, DType::kFloat32);
  const auto moved = nn::Sgd(0.25).Minimize(
      ops::ElementwiseAdd(loss, ops::Mean(v)), {.parameters = {"v"}});
  ASSERT_EQ(moved.size(), 1u);
  EXPECT_EQ(moved[0].param, "v");
}

TEST_F(OptimizerTest, ErrorsNameTheLineAndLeaveTheProgram) {
  const Var loss = Loss();
  const size_t ops = program_.block().ops.size();
  for (const double rate : {std::numeric_limits<double>::infinity(),
                            std::numeric_limits<double>::quiet_NaN(), -0.1}) {
    ExpectError(ErrorCode::kInvalidArgument, "nn.learning_rate",
                {"sgd: learning_rate must be finite and at least 0",
                 "optimizer_test.cc:"},
                [&] { nn::Sgd(rate).Minimize(loss); });
  }
  ExpectError(
      ErrorCode::kInvalidArgument, "nn.optimizer_op",
      {"op relu is no optimizer: it has no input Param", "optimizer_test.cc:"},
      [&] { nn::Optimizer{.op = "relu"}.Minimize(loss); });
  try {
    nn::Optimizer{.op = "adan"}.Minimize(loss);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNotFound);
    EXPECT_NE(std::string(error.what()).find("adam"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("optimizer_test.cc:"),
              std::string::npos);
  }
  EXPECT_THROW(nn::Sgd(0.1).Minimize(program_.Find("w")), Error);
  EXPECT_EQ(program_.block().ops.size(), ops);
  EXPECT_EQ(startup_.block().ops.size(), 1u);
}

}  // namespace
}  // namespace sluice
