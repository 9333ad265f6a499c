#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/nn.h"
#include "sluice/sluice.h"

namespace sluice {
namespace {

using testing::ExpectError;
using Doubles = std::vector<double>;

class AveragesTest : public ::testing::Test {
 protected:
  static constexpr double kRate = 0.125;

  // loss = the sum of w * x, so that x is w's gradient.
  void SetUp() override {
    const Var x = program_.Data("x", DType::kFloat64, {2});
    nn::LayerHelper layer("layer", x, "", SourceLocation::Here());
    const Var w = layer.Parameter(
        {.name = "w", .initializer = nn::Values({1, -2})}, {2}, x.dtype());
    nn::Sgd(kRate).Minimize(ops::ReduceSum(ops::ElementwiseMul(w, x)));
  }
  void Start() { executor_.Run(startup_, {}, {}, &scope_); }
  // One step; w is then as SGD says.
  void Step(int number) {
    const Doubles x = {std::sin(number), 3 * std::cos(2.0 * number)};
    executor_.Run(program_, {{"x", Tensor::FromVector<double>({2}, x)}}, {},
                  &scope_);
    for (size_t i = 0; i < 2; ++i) {
      w_[i] -= kRate * x[i];
    }
    ASSERT_EQ(Value(), w_);
  }
  Doubles Value() {
    return scope_.FindVar("w")->Get<Tensor>()->ToVector<double>();
  }
  // Expects these averages while they are applied, and w otherwise.
  void ExpectAverage(const nn::ParameterAverage& average,
                     const Doubles& wanted) {
    {
      const auto applied = average.Apply(executor_, &scope_);
      const Doubles found = Value();
      ASSERT_EQ(found.size(), 2u);
      for (size_t i = 0; i < 2; ++i) {
        EXPECT_NEAR(found[i], wanted[i], 1e-12);
      }
    }
    EXPECT_EQ(Value(), w_);
  }

  Program program_;
  nn::Startup startup_;
  Scope scope_;
  Executor executor_;
  Doubles w_ = {1, -2};
};

class EmaTest : public AveragesTest,
                public ::testing::WithParamInterface<bool> {};

TEST_P(EmaTest, IsAMeanFromTheFirstStepOn) {
  const Var steps = GetParam() ? nn::StepCounter(program_) : Var();
  const auto ema =
      nn::ExponentialMovingAverage(program_, {.decay = 0.75, .steps = steps});
  EXPECT_EQ(program_.purpose(), OpPurpose::kForward);
  EXPECT_TRUE(program_.FindVar("w.ema_0_0").stop_gradient);
  Start();
  Doubles average = {0, 0};
  double left = 1;
  for (int t = 0; t < 20; ++t) {
    Step(t);
    const double decay =
        GetParam() ? std::min(0.75, (1.0 + t) / (10.0 + t)) : 0.75;
    left *= decay;
    Doubles wanted = average;
    for (size_t i = 0; i < 2; ++i) {
      average[i] = decay * average[i] + (1 - decay) * w_[i];
      wanted[i] = average[i] / (1 - left);
    }
    ExpectAverage(ema, wanted);
  }
}

INSTANTIATE_TEST_SUITE_P(Decay,
                         EmaTest,
                         ::testing::Bool(),
                         [](const auto& info) {
                           return info.param ? "Limited" : "Constant";
                         });

TEST_F(AveragesTest, ModelAverageIsTheMeanOverItsWindows) {
  const auto mean = nn::ModelAverage(program_, {.average_window_rate = 0.25,
                                                .min_average_window = 3,
                                                .max_average_window = 7});
  Start();
  std::vector<Doubles> before;
  std::vector<Doubles> current;
  for (int t = 0; t < 50; ++t) {
    Step(t);
    current.push_back(w_);
    if (current.size() >= 3 &&
        static_cast<int>(current.size()) >= std::min(7, (t + 1) / 4)) {
      before = std::exchange(current, {});
    }
    Doubles sum = {0, 0};
    for (const auto* window : {&before, &current}) {
      for (const Doubles& values : *window) {
        sum[0] += values[0];
        sum[1] += values[1];
      }
    }
    const auto count = static_cast<double>(before.size() + current.size());
    ExpectAverage(mean, {sum[0] / count, sum[1] / count});
  }
}

TEST_F(AveragesTest, WhatIsWrittenMeanwhileIsLost) {
  const auto ema = nn::ExponentialMovingAverage(program_, {.decay = 0.5});
  const auto mean = nn::ModelAverage(program_);
  Start();
  Step(0);
  Step(1);
  {
    const auto outer = ema.Apply(executor_, &scope_);
    const Doubles average = Value();
    EXPECT_NE(average, w_);
    {
      const auto inner = mean.Apply(executor_, &scope_);
      EXPECT_NE(Value(), average);
      executor_.Run(program_, {{"x", Tensor::FromVector<double>({2}, {1, 1})}},
                    {}, &scope_);
    }
    EXPECT_EQ(Value(), average);
  }
  EXPECT_EQ(Value(), w_);
  Step(2);
}

TEST_F(AveragesTest, AreKeptOfLoopsOverSequences) {
  Program program;
  const nn::Startup startup;
  const Var x = program.RaggedData("x", DType::kFloat64, {-1, 2});
  const auto made = nn::SequenceScan(
      [](const Vars& carried, const Vars& rows) -> ScanStep {
        const Var y = nn::Fc(rows[0], 1, {.weight = {.name = "w"}});
        return {{ops::ElementwiseAdd(carried[0], y)}, {}};
      },
      {1}, {x});
  const Var rate = ops::ExponentialDecay(nn::StepCounter(program), 0.5, 1, 0.5);
  nn::Optimizer{.op = "sgd", .schedule = ops::Cast(rate, DType::kFloat64)}
      .Minimize(ops::Mean(made.carried[0]));
  const auto ema = nn::ExponentialMovingAverage(program, {.decay = 0.5});
  const auto mean = nn::ModelAverage(program);
  executor_.Run(startup, {}, {}, &scope_);
  const std::vector<Tensor> sequences(
      40, Tensor::FromVector<double>({2, 2}, {1, 2, 3, 4}));
  std::vector<Doubles> values;
  for (int step = 0; step < 2; ++step) {
    executor_.Run(program, PackSequences("x", sequences), {}, &scope_);
    values.push_back(Value());
  }
  // The gradient is {4, 6}, and the second rate 0.25.
  EXPECT_NEAR(values[1][0], values[0][0] - 1, 1e-12);
  EXPECT_NEAR(values[1][1], values[0][1] - 1.5, 1e-12);
  for (const auto* average : {&ema, &mean}) {
    const double share = average == &ema ? 2.0 / 3 : 0.5;
    const auto applied = average->Apply(executor_, &scope_);
    EXPECT_NEAR(Value()[0], values[0][0] - share, 1e-12);
    EXPECT_NEAR(Value()[1], values[0][1] - share * 1.5, 1e-12);
  }
}

TEST_F(AveragesTest, AnErrorRestores) {
  const auto ema = nn::ExponentialMovingAverage(program_);
  Start();
  Step(0);
  Step(1);
  try {
    const auto applied = ema.Apply(executor_, &scope_);
    EXPECT_NE(Value(), w_);
    executor_.Run(program_, {}, {}, &scope_);  // without a feed
    ADD_FAILURE();
  } catch (const Error&) {
    EXPECT_EQ(Value(), w_);
  }
}

TEST_F(AveragesTest, TheyMayBeKept) {
  const auto ema = nn::ExponentialMovingAverage(program_, {.decay = 0.5});
  Start();
  Step(0);
  Step(1);
  Doubles average;
  {
    auto applied = ema.Apply(executor_, &scope_);
    average = Value();
    applied.Restore();
    EXPECT_EQ(Value(), w_);
  }
  {
    auto applied = ema.Apply(executor_, &scope_);
    applied.Keep();
  }
  EXPECT_EQ(Value(), average);
  EXPECT_NE(average, w_);
}

TEST_F(AveragesTest, ProgramsForTestsDoNotAverage) {
  const size_t forward = program_.CloneForTest().block().ops.size();
  nn::ExponentialMovingAverage(program_);
  nn::ModelAverage(program_);
  EXPECT_EQ(program_.CloneForTest().block().ops.size(), forward);
}

TEST_F(AveragesTest, TheyNeedAStep) {
  const auto ema = nn::ExponentialMovingAverage(program_);
  const auto mean = nn::ModelAverage(program_);
  Start();
  for (const auto* average : {&ema, &mean}) {
    ExpectError(ErrorCode::kFailedPrecondition, "nn.average_steps",
                {"_0: no step was averaged yet; run the training first"},
                [&] { average->Apply(executor_, &scope_).Keep(); });
    EXPECT_EQ(Value(), w_);
  }
}

TEST_F(AveragesTest, ErrorsNameTheLine) {
  const size_t count = program_.block().ops.size();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double decay : {-0.1, 1.0, nan}) {
    ExpectError(
        ErrorCode::kInvalidArgument, "nn.ema_decay",
        {"ema: decay must be at least 0 and below 1", "averages_test.cc:"},
        [&] { nn::ExponentialMovingAverage(program_, {.decay = decay}); });
  }
  for (const double rate : {-1.0, nan}) {
    ExpectError(
        ErrorCode::kInvalidArgument, "nn.average_window_rate",
        {"model_average: average_window_rate must be finite",
         "averages_test.cc:"},
        [&] { nn::ModelAverage(program_, {.average_window_rate = rate}); });
  }
  ExpectError(ErrorCode::kInvalidArgument, "nn.average_window",
              {"above 0, got 0 and 10000", "averages_test.cc:"},
              [&] { nn::ModelAverage(program_, {.min_average_window = 0}); });
  EXPECT_EQ(program_.block().ops.size(), count);
  Program empty;
  ExpectError(
      ErrorCode::kInvalidArgument, "nn.average_parameters",
      {"model_average: the program has no parameters", "averages_test.cc:"},
      [&] { nn::ModelAverage(empty); });
}

}  // namespace
}  // namespace sluice
