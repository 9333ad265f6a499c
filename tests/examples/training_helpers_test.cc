// sluice/training.h: parameters with initial values, and optimizers.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/sluice.h"
#include "sluice/training.h"

namespace sluice {
namespace {

using testing::ExpectError;
using Floats = std::vector<float>;

class TrainingHelpersTest : public ::testing::Test {
 protected:
  // loss = the mean of w * x, so that w's gradient is x / 2.
  void Build(const Optimizer& optimizer) {
    const Var x = program_.Data("x", DType::kFloat32, {2});
    const Var w =
        Parameter(program_, startup_, "w", DType::kFloat32, {2}, Constant(1));
    loss_ = ops::Mean(ops::ElementwiseMul(w, x));
    moved_ = Minimize(optimizer, loss_, startup_);
    executor_.Run(startup_, {}, {}, &scope_);
  }

  Floats Value(const std::string& name) const {
    return scope_.FindVar(name)->Get<Tensor>()->ToVector<float>();
  }

  // w after `steps` steps with the gradient {1, -2}.
  Floats Train(int steps) {
    const Tensor x = Tensor::FromVector<float>({2}, {2, -4});
    for (int step = 0; step < steps; ++step) {
      executor_.Run(program_, {{"x", x}}, {loss_}, &scope_);
    }
    return Value("w");
  }

  // Initial values of a parameter with 10,000 elements.
  Floats First(const Initializer& first) {
    Program program;
    Program startup;
    Parameter(program, startup, "p", DType::kFloat32, {100, 100}, first);
    Scope scope;  // random ops count its steps
    executor_.Run(startup, {}, {}, &scope);
    return scope.FindVar("p")->Get<Tensor>()->ToVector<float>();
  }

  Program program_;
  Program startup_;
  Scope scope_;
  Executor executor_;
  Var loss_;
  std::vector<ParamGrad> moved_;
};

double Deviation(const Floats& values, double mean) {
  double sum = 0;
  for (const float value : values) {
    sum += (value - mean) * (value - mean);
  }
  return std::sqrt(sum / static_cast<double>(values.size()));
}

TEST_F(TrainingHelpersTest, InitializersGiveWhatTheySay) {
  EXPECT_EQ(First(Constant(2.5)), Floats(10000, 2.5F));
  const Floats uniform = First(Uniform(2, 4, 7));
  EXPECT_GE(*std::min_element(uniform.begin(), uniform.end()), 2);
  EXPECT_LT(*std::max_element(uniform.begin(), uniform.end()), 4);
  EXPECT_NEAR(Deviation(uniform, 3), 2 / std::sqrt(12.0), 0.02);
  EXPECT_EQ(First(Uniform(2, 4, 7)), uniform);
  EXPECT_NE(First(Uniform(2, 4, 8)), uniform);
  EXPECT_NEAR(Deviation(First(Normal(5, 0.5, 7)), 5), 0.5, 0.02);
  EXPECT_NEAR(Deviation(First(Xavier(30, 70, 7)), 0), std::sqrt(2.0 / 100),
              0.005);
  EXPECT_NEAR(Deviation(First(Msra(50, 7)), 0), std::sqrt(2.0 / 50), 0.005);
}

TEST_F(TrainingHelpersTest, SgdTakesTheGradientTimesTheRate) {
  Build(Sgd(0.25));
  ASSERT_EQ(moved_.size(), 1u);
  EXPECT_EQ(moved_[0].param, "w");
  EXPECT_EQ(Train(2), Floats({0.5F, 2}));
  // A schedule writes the rate.
  *scope_.FindVar("sgd.rate")->GetMutable<Tensor>() =
      Tensor::FromVector<float>({1}, {1});
  EXPECT_EQ(Train(1), Floats({-0.5F, 4}));
}

TEST_F(TrainingHelpersTest, MomentumKeepsAVelocity) {
  Build(Momentum(0.25, 0.5));
  // Velocities of the first element: 1, then 1.5.
  EXPECT_EQ(Train(2), Floats({1 - 0.25F * 2.5F, 1 + 0.25F * 5}));
  EXPECT_EQ(Value("w.momentum.Velocity"), Floats({1.5F, -3}));
}

TEST_F(TrainingHelpersTest, NesterovLooksAhead) {
  Build(Momentum(0.25, 0.5, true));
  EXPECT_EQ(Train(1), Floats({1 - 0.25F * 1.5F, 1 + 0.25F * 3}));
}

TEST_F(TrainingHelpersTest, AdamsFirstStepsAreOfTheRate) {
  Build(Adam(0.125, 0.5, 0.75));
  // With constant gradients, Kingma and Ba's m / sqrt(v) is the sign.
  const Floats w = Train(2);
  EXPECT_NEAR(w[0], 0.75F, 1e-5);
  EXPECT_NEAR(w[1], 1.25F, 1e-5);
  EXPECT_EQ(Value("w.adam.Moment1"), Floats({0.75F, -1.5F}));
  EXPECT_EQ(Value("w.adam.Beta1Pow"), Floats({0.125F}));
  EXPECT_EQ(Value("w.adam.Beta2Pow"), Floats({0.421875F}));
}

TEST_F(TrainingHelpersTest, EveryOptimizerMovesAgainstTheGradient) {
  const Tensor x = Tensor::FromVector<float>({2}, {2, -4});
  for (const Optimizer& optimizer :
       {Sgd(0.1), Momentum(0.1), LarsMomentum(0.1), Adam(0.1), AdamW(0.1),
        Lamb(0.1), Adamax(0.1), Adagrad(0.1), DecayedAdagrad(0.1), Adadelta(),
        RmsProp(0.1, 0.9, 1e-6, 0.5, true)}) {
    Program program;
    Program startup;
    Scope scope;
    const Var w =
        Parameter(program, startup, "w", DType::kFloat32, {2}, Constant(1));
    const Var in = program.Data("x", DType::kFloat32, {2});
    Minimize(optimizer, ops::Mean(ops::ElementwiseMul(w, in)), startup);
    executor_.Run(startup, {}, {}, &scope);
    executor_.Run(program, {{"x", x}}, {}, &scope);
    const Floats moved = scope.FindVar("w")->Get<Tensor>()->ToVector<float>();
    EXPECT_LT(moved[0], 1) << optimizer.op;
    EXPECT_GT(moved[1], 1 - 0.01) << optimizer.op;
    EXPECT_NE(moved[1], 1) << optimizer.op;
  }
}

TEST_F(TrainingHelpersTest, FtrlKeepsSmallParametersAtZero) {
  Build(Ftrl(0.25, 100));
  EXPECT_EQ(Train(1), Floats({0, 0}));
}

TEST_F(TrainingHelpersTest, AScheduleGivesTheRate) {
  const Var x = program_.Data("x", DType::kFloat32, {2});
  const Var w =
      Parameter(program_, startup_, "w", DType::kFloat32, {2}, Constant(1));
  const Var rate = ops::ExponentialDecay(StepCounter(program_, startup_),
                                         /*learning_rate=*/0.5,
                                         /*decay_steps=*/1, /*decay_rate=*/0.5);
  EXPECT_EQ(StepCounter(program_, startup_).name(), "learning_rate_step");
  Optimizer sgd = Sgd(0);
  sgd.schedule = rate.name();
  loss_ = ops::Mean(ops::ElementwiseMul(w, x));
  Minimize(sgd, loss_, startup_);
  executor_.Run(startup_, {}, {}, &scope_);
  EXPECT_EQ(Train(1), Floats({0.5F, 2}));
  EXPECT_EQ(Train(1), Floats({0.25F, 2.5F}));
}

TEST_F(TrainingHelpersTest, OneProgramMayHaveTwoOptimizers) {
  Build(Sgd(0.25));
  const Var v =
      Parameter(program_, startup_, "v", DType::kFloat64, {2}, Normal(0, 1, 3));
  const Var other = ops::Mean(ops::Square(v));
  Minimize(Sgd(0.5), other, startup_);
  executor_.Run(startup_, {}, {}, &scope_);
  Train(1);
  EXPECT_EQ(Value("w"), Floats({0.75F, 1.5F}));
  // v -= 0.5 * v
  EXPECT_EQ(program_.FindVar("sgd.rate_1").dtype, DType::kFloat64);
  EXPECT_EQ(program_.purpose(), OpPurpose::kForward);
}

TEST_F(TrainingHelpersTest, ErrorsLeaveTheProgram) {
  const Var x = program_.Data("x", DType::kFloat32, {2});
  const Var w =
      Parameter(program_, startup_, "w", DType::kFloat32, {2}, Constant(1));
  const Var y = ops::ElementwiseMul(w, x);
  const size_t ops = program_.block().ops.size();
  for (const double rate : {std::numeric_limits<double>::infinity(),
                            std::numeric_limits<double>::quiet_NaN(), -0.1}) {
    ExpectError(ErrorCode::kInvalidArgument, "training.rate",
                {"adam: the learning rate must be finite and at least 0"},
                [&] { Minimize(Adam(rate), ops::Mean(y), startup_); });
  }
  EXPECT_THROW(Minimize(Sgd(0.1), y, startup_), Error);  // two elements
  EXPECT_EQ(program_.block().ops.size(), ops + 3);       // the means
  EXPECT_EQ(startup_.block().ops.size(), 1u);
  // The name is taken; the size is unknown.
  EXPECT_THROW(
      Parameter(program_, startup_, "w", DType::kFloat32, {2}, Constant(1)),
      Error);
  EXPECT_THROW(
      Parameter(program_, startup_, "v", DType::kFloat32, {-1}, Constant(1)),
      Error);
}

TEST_F(TrainingHelpersTest, InitializersRefuseSizesBelowOne) {
  for (const int64_t size : {0, -3}) {
    ExpectError(ErrorCode::kInvalidArgument, "training.xavier_sizes",
                {"above 0", "got 4 and"}, [&] { Xavier(4, size); });
    ExpectError(ErrorCode::kInvalidArgument, "training.xavier_sizes",
                {"above 0", "and 4"}, [&] { Xavier(size, 4); });
    ExpectError(ErrorCode::kInvalidArgument, "training.msra_size",
                {"Msra: expected inputs above 0"}, [&] { Msra(size); });
  }
}

}  // namespace
}  // namespace sluice
