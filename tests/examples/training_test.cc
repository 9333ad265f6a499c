// Small networks, trained in C++ on the first 1,000 digits.
#include <cmath>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "examples/digits_data.h"
#include <gtest/gtest.h>

#include "sluice/sluice.h"

namespace sluice {
namespace {

constexpr int64_t kTrained = 1000;
constexpr int64_t kDigits = 1797;

// 64 -> hidden -> 10 with relu, and the ops that train it.
struct Mlp {
  Mlp(DType dtype, int64_t hidden) {
    const Var x = program.Data("x", dtype, {-1, 64});
    const Var label = program.Data("label", DType::kInt64, {-1, 1});
    const Var h = ops::Relu(Layer(x, 64, hidden, dtype));
    const Var logits = Layer(h, hidden, 10, dtype);
    loss = ops::Mean(ops::SoftmaxWithCrossEntropy(logits, label).loss);
    const auto best = ops::TopK(logits, {.k = 1});
    accuracy = ops::Accuracy(best.indices, label).accuracy;
    gradients = AppendBackward(loss);
  }

  // Parameters get the same small random numbers everywhere.
  Var Layer(const Var& x, int64_t inputs, int64_t outputs, DType dtype) {
    const std::string number = std::to_string(weights.size());
    weights.push_back("w" + number);
    const Var w = program.Persistable("w" + number, dtype, {inputs, outputs});
    const Var b = program.Persistable("b" + number, dtype, {outputs});
    return ops::ElementwiseAdd(ops::Mul(x, w), b, {.axis = 1});
  }

  void Start(Scope* scope) const {
    std::mt19937 random(7);
    for (const auto& var : program.block().vars()) {
      if (!var.persistable) continue;
      const bool weight = var.name[0] == 'w';
      const double limit =
          weight ? std::sqrt(6.0 / static_cast<double>(var.dims[0])) : 0;
      Tensor& value = *scope->Var(var.name).GetMutable<Tensor>();
      std::vector<double> values(static_cast<size_t>(var.dims.numel()));
      for (double& v : values) {
        v = limit * (static_cast<double>(random()) / 2147483648.0 - 1);
      }
      if (var.dtype == DType::kFloat64) {
        value = Tensor::FromVector<double>(var.dims, values);
      } else {
        value = Tensor::FromVector<float>(
            var.dims, std::vector<float>(values.begin(), values.end()));
      }
    }
  }

  // Appends `type` for every parameter; `states` begin as zeros.
  void Optimize(const std::string& type,
                double rate,
                const std::vector<std::string>& states,
                const AttributeMap& attributes,
                Scope* scope) {
    program.SetPurpose(OpPurpose::kOptimize);
    Persist(scope, "rate", rate, {1});
    for (const auto& [param, grad] : gradients) {
      Program::ArgList inputs = {{"Param", {param}}, {"Grad", {grad}}};
      Program::ArgList outputs = {{"ParamOut", {param}}};
      for (const std::string& state : states) {
        const std::string name = param + "." + state;
        const double power = state == "Beta1Pow"   ? 0.9
                             : state == "Beta2Pow" ? 0.999
                                                   : 0;
        Persist(scope, name, power,
                power == 0 ? program.FindVar(param).dims : DDim({1}));
        inputs.push_back({state, {name}});
        outputs.push_back({state + "Out", {name}});
      }
      inputs.push_back({"LearningRate", {"rate"}});
      program.AppendOp(type, inputs, attributes, {}, outputs);
    }
    program.SetPurpose(OpPurpose::kForward);
  }
  void Persist(Scope* scope,
               const std::string& name,
               double value,
               const DDim& dims) {
    program.Persistable(name, DType::kFloat32, dims);
    const std::vector<float> values(static_cast<size_t>(dims.numel()),
                                    static_cast<float>(value));
    *scope->Var(name).GetMutable<Tensor>() =
        Tensor::FromVector<float>(dims, values);
  }

  Program program;
  Var loss;
  Var accuracy;
  std::vector<ParamGrad> gradients;
  std::vector<std::string> weights;
};

class TrainingTest : public ::testing::Test {
 protected:
  // Digits [begin, end), ink from 0 to 1.
  template <typename T>
  Feeds Digits(int64_t begin, int64_t end) const {
    Tensor x = examples::Rows<T>(images_, begin, end);
    for (int64_t i = 0; i < x.numel(); ++i) {
      x.data<T>()[i] /= 16;
    }
    return {{"x", x.Reshaped({end - begin, 64})},
            {"label", examples::Rows<int64_t>(labels_, begin, end)
                          .Reshaped({end - begin, 1})}};
  }

  // Returns the loss of each step.
  std::vector<float> Train(const Mlp& mlp,
                           Scope* scope,
                           int64_t batch,
                           int steps) const {
    Executor executor;
    std::vector<float> losses;
    for (int step = 0; step < steps; ++step) {
      const int64_t begin = step * batch % (kTrained - batch + 1);
      losses.push_back(executor
                           .Run(mlp.program,
                                Digits<float>(begin, begin + batch), {mlp.loss},
                                scope)[0]
                           .data<float>()[0]);
    }
    return losses;
  }

  // The accuracy on digits outside of the training set.
  float Accuracy(const Mlp& mlp, Scope* scope) const {
    Executor executor;
    return executor
        .Run(mlp.program.CloneForTest(), Digits<float>(kTrained, kDigits),
             {mlp.accuracy}, scope)[0]
        .data<float>()[0];
  }

  const Tensor images_ = nn::ReadNpy("examples/data/digits_images.npy");
  const Tensor labels_ = nn::ReadNpy("examples/data/digits_labels.npy");
};

TEST_F(TrainingTest, SgdLearnsToReadDigits) {
  Mlp mlp(DType::kFloat32, 32);
  Scope scope;
  mlp.Start(&scope);
  mlp.Optimize("sgd", 0.5, {}, {}, &scope);
  const std::vector<float> losses = Train(mlp, &scope, 50, 600);
  EXPECT_GT(losses.front(), 2);
  EXPECT_LT(losses.back(), 0.1);
  EXPECT_GE(Accuracy(mlp, &scope), 0.9);
}

TEST_F(TrainingTest, MomentumLearnsToReadDigits) {
  Mlp mlp(DType::kFloat32, 32);
  Scope scope;
  mlp.Start(&scope);
  mlp.Optimize("momentum", 0.1, {"Velocity"}, {{"mu", 0.9}}, &scope);
  EXPECT_LT(Train(mlp, &scope, 50, 600).back(), 0.1);
  EXPECT_GE(Accuracy(mlp, &scope), 0.9);
}

TEST_F(TrainingTest, AdamLearnsToReadDigits) {
  Mlp mlp(DType::kFloat32, 32);
  Scope scope;
  mlp.Start(&scope);
  mlp.Optimize("adam", 0.01, {"Moment1", "Moment2", "Beta1Pow", "Beta2Pow"}, {},
               &scope);
  EXPECT_LT(Train(mlp, &scope, 50, 300).back(), 0.1);
  EXPECT_GE(Accuracy(mlp, &scope), 0.9);
  EXPECT_NEAR(scope.FindVar("w0.Beta1Pow")->Get<Tensor>()->data<float>()[0],
              std::pow(0.9, 301), 1e-6);
}

TEST_F(TrainingTest, ASavedRunGoesOnAsIfNothingHadHappened) {
  Mlp mlp(DType::kFloat32, 16);
  Scope scope;
  mlp.Start(&scope);
  mlp.Optimize("momentum", 0.1, {"Velocity"}, {{"mu", 0.9}}, &scope);
  Train(mlp, &scope, 50, 5);
  const std::string path = ::testing::TempDir() + "training.safetensors";
  SaveParameters(path, mlp.program, scope);
  const std::vector<float> losses = Train(mlp, &scope, 50, 5);
  Scope loaded;
  LoadParameters(path, mlp.program, loaded);
  EXPECT_EQ(Train(mlp, &loaded, 50, 5), losses);
  std::remove(path.c_str());
}

// The batch is large enough that threads share the work of every op.
TEST_F(TrainingTest, OneSeedGivesTheSameBitsOnAnyNumberOfThreads) {
  const KernelHintGuard plain("*: require variant=plain");
  std::vector<std::vector<float>> runs;
  for (const int threads : {1, 2, 7}) {
    SetNumThreads(threads);
    Mlp mlp(DType::kFloat32, 192);
    Scope scope;
    mlp.Start(&scope);
    mlp.Optimize("momentum", 0.1, {"Velocity"}, {{"mu", 0.9}}, &scope);
    std::vector<float> bits = Train(mlp, &scope, 200, 200);
    for (const auto& [param, grad] : mlp.gradients) {
      const auto values =
          scope.FindVar(param)->Get<Tensor>()->ToVector<float>();
      bits.insert(bits.end(), values.begin(), values.end());
    }
    EXPECT_TRUE(std::isfinite(bits[199])) << bits[199];
    runs.push_back(std::move(bits));
  }
  SetNumThreads(0);
  EXPECT_TRUE(runs[1] == runs[0]);
  EXPECT_TRUE(runs[2] == runs[0]);
}

// Compares the gradients of AppendBackward with central differences.
TEST_F(TrainingTest, GradientsOfTheWholeNetworkMatchDifferences) {
  Mlp mlp(DType::kFloat64, 5);
  Scope scope;
  mlp.Start(&scope);
  const Feeds feeds = Digits<double>(0, 7);
  Executor executor;
  const auto loss = [&] {
    return executor.Run(mlp.program, feeds, {mlp.loss}, &scope)[0]
        .data<double>()[0];
  };
  ASSERT_EQ(mlp.gradients.size(), 4u);
  for (const auto& [param, grad] : mlp.gradients) {
    const Tensor got = executor.Run(mlp.program, feeds, {grad}, &scope)[0];
    Tensor& value = *scope.Var(param).GetMutable<Tensor>();
    for (int64_t i = 0; i < value.numel(); ++i) {
      constexpr double kStep = 1e-5;
      double& element = value.data<double>()[i];
      const double kept = element;
      element = kept + kStep;
      const double above = loss();
      element = kept - kStep;
      const double below = loss();
      element = kept;
      ASSERT_NEAR(got.data<double>()[i], (above - below) / (2 * kStep), 1e-9)
          << param << "[" << i << "]";
    }
  }
}

}  // namespace
}  // namespace sluice
