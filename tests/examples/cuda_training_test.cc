// A small LeNet, trained on CUDA as on the CPU.
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sluice/platform/plugin/kernel_module.h"
#include "sluice/sluice.h"

namespace sluice {
namespace {

// Convolution, pooling, dropout and two layers; the loss of 3 classes.
struct LeNet {
  LeNet() {
    const Var x = program.Data("x", DType::kFloat32, {-1, 1, 8, 8});
    const Var label = program.Data("label", DType::kInt64, {-1, 1});
    const Var image =
        ops::Conv2d(x, Param("filter", {4, 1, 3, 3}), {.paddings = {1, 1}});
    const Var small = ops::Pool2d(
        ops::Relu(image),
        {.pooling_type = "max", .ksize = {2, 2}, .strides = {2, 2}});
    const Var wide = ops::Tanh(ops::ElementwiseAdd(
        ops::Mul(small, Param("w", {64, 9})), Param("b", {9}), {.axis = 1}));
    const Var kept = ops::Dropout(wide, {.dropout_prob = 0.25}).out;
    const Var logits = ops::Matmul(kept, Param("last", {9, 3}));
    loss = ops::Mean(ops::SoftmaxWithCrossEntropy(logits, label).loss);
    gradients = AppendBackward(loss);
  }

  Var Param(const std::string& name, const DDim& dims) {
    return program.Persistable(name, DType::kFloat32, dims);
  }

  // Makes every parameter, and the op that updates it.
  void Optimize(Scope* scope) {
    program.SetPurpose(framework::OpPurpose::kOptimize);
    Fill(scope, "rate", {1}, 0.05F);
    program.Persistable("rate", DType::kFloat32, {1});
    std::mt19937 random(7);
    for (const auto& [param, grad] : gradients) {
      const DDim dims = program.FindVar(param).dims;
      Tensor& value = Fill(scope, param, dims, 0);
      for (int64_t i = 0; i < value.numel(); ++i) {
        value.data<float>()[i] =
            static_cast<float>(random() / 4294967296.0 - 0.5);
      }
      Fill(scope, param + ".velocity", dims, 0);
      program.Persistable(param + ".velocity", DType::kFloat32, dims);
      program.AppendOp(
          "momentum",
          {{"Param", {param}},
           {"Grad", {grad}},
           {"Velocity", {param + ".velocity"}},
           {"LearningRate", {"rate"}}},
          {{"mu", 0.9}}, {},
          {{"ParamOut", {param}}, {"VelocityOut", {param + ".velocity"}}});
    }
    program.SetPurpose(framework::OpPurpose::kForward);
  }

  static Tensor& Fill(Scope* scope,
                      const std::string& name,
                      const DDim& dims,
                      float number) {
    const std::vector<float> values(static_cast<size_t>(dims.numel()), number);
    Tensor& value = *scope->Var(name).GetMutable<Tensor>();
    return value = Tensor::FromVector<float>(dims, values);
  }

  Program program;
  Var loss;
  std::vector<ParamGrad> gradients;
};

// The losses of some steps on the same images.
std::vector<float> Train(const std::string& hint, int64_t images) {
  const KernelHintGuard guard(hint);
  LeNet net;
  Scope scope;
  net.Optimize(&scope);
  std::vector<float> pixels(static_cast<size_t>(images * 64));
  std::vector<int64_t> labels(static_cast<size_t>(images));
  for (size_t i = 0; i < pixels.size(); ++i) {
    labels[i / 64] = static_cast<int64_t>(i / 64 % 3);
    pixels[i] = std::sin(static_cast<float>(i * (1 + i / 64 % 3)));
  }
  const Feeds feeds = {
      {"x", Tensor::FromVector<float>({images, 1, 8, 8}, pixels)},
      {"label", Tensor::FromVector<int64_t>({images, 1}, labels)}};
  Executor executor;
  std::vector<float> losses;
  for (int step = 0; step < 12; ++step) {
    losses.push_back(executor.Run(net.program, feeds, {net.loss}, &scope)[0]
                         .data<float>()[0]);
  }
  return losses;
}

TEST(CUDATraining, LearnsAsTheCPUDoes) {
  const std::string& missing = platform::LoadModule("cuda");
  if (!missing.empty()) GTEST_SKIP() << missing;
  const std::vector<float> want = Train("*: require place=cpu", 7);
  const std::vector<float> got = Train("*: require place=cuda:0", 7);
  EXPECT_LT(want.back(), 0.7 * want.front());
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_NEAR(got[i], want[i], 1e-4) << "step " << i;
  }
  EXPECT_EQ(Train("*: require place=cuda:0", 7), got);
}

}  // namespace
}  // namespace sluice
