#pragma once

#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "sluice/sluice.h"

// A small LeNet and images to train it with, for tests of training.
namespace sluice::testing {

// Convolution, pooling, dropout and two layers; the loss of 3 classes.
struct LeNet {
  // Without dropout every run computes the same.
  explicit LeNet(bool dropout = true) {
    const Var x = program.Data("x", DType::kFloat32, {-1, 1, 8, 8});
    const Var label = program.Data("label", DType::kInt64, {-1, 1});
    const Var image =
        ops::Conv2d(x, Param("filter", {4, 1, 3, 3}), {.paddings = {1, 1}});
    const Var small = ops::Pool2d(
        ops::Relu(image),
        {.pooling_type = "max", .ksize = {2, 2}, .strides = {2, 2}});
    const Var wide = ops::Tanh(ops::ElementwiseAdd(
        ops::Mul(small, Param("w", {64, 9})), Param("b", {9}), {.axis = 1}));
    const Var kept =
        dropout ? ops::Dropout(wide, {.dropout_prob = 0.25}).out : wide;
    const Var logits = ops::Matmul(kept, Param("last", {9, 3}));
    loss = ops::Mean(ops::SoftmaxWithCrossEntropy(logits, label).loss);
    gradients = AppendBackward(loss);
  }

  Var Param(const std::string& name, const DDim& dims) {
    return program.Persistable(name, DType::kFloat32, dims);
  }

  // Sets every parameter to the same random numbers each time.
  void MakeParameters(Scope* scope) const {
    std::mt19937 random(7);
    for (const auto& [param, grad] : gradients) {
      const DDim dims = program.FindVar(param).dims;
      Tensor& value = Fill(scope, param, dims, 0);
      for (int64_t i = 0; i < value.numel(); ++i) {
        value.data<float>()[i] =
            static_cast<float>(random() / 4294967296.0 - 0.5);
      }
    }
  }

  // Appends the op that updates each parameter.
  void Optimize(Scope* scope) {
    MakeParameters(scope);
    program.SetPurpose(OpPurpose::kOptimize);
    Fill(scope, "rate", {1}, 0.05F);
    program.Persistable("rate", DType::kFloat32, {1});
    for (const auto& [param, grad] : gradients) {
      const DDim dims = program.FindVar(param).dims;
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
    program.SetPurpose(OpPurpose::kForward);
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

// Some images and their labels.
inline Feeds LeNetImages(int64_t images) {
  std::vector<float> pixels(static_cast<size_t>(images * 64));
  std::vector<int64_t> labels(static_cast<size_t>(images));
  for (size_t i = 0; i < pixels.size(); ++i) {
    labels[i / 64] = static_cast<int64_t>(i / 64 % 3);
    pixels[i] = std::sin(static_cast<float>(i * (1 + i / 64 % 3)));
  }
  return {{"x", Tensor::FromVector<float>({images, 1, 8, 8}, pixels)},
          {"label", Tensor::FromVector<int64_t>({images, 1}, labels)}};
}

// A LeNet that learns some images, with kernels by `hint`.
class LeNetTraining {
 public:
  explicit LeNetTraining(std::string hint, int64_t images = 7)
      : hint_(std::move(hint)), feeds_(LeNetImages(images)) {
    net_.Optimize(&scope_);
  }

  // Runs one step, and returns the loss before it.
  float Step() {
    const KernelHintGuard guard(hint_);
    return executor_.Run(net_.program, feeds_, {net_.loss}, &scope_)[0]
        .data<float>()[0];
  }
  std::vector<float> Steps(int count) {
    std::vector<float> losses;
    for (int step = 0; step < count; ++step) {
      losses.push_back(Step());
    }
    return losses;
  }

 private:
  const std::string hint_;
  LeNet net_;
  Scope scope_;
  const Feeds feeds_;
  Executor executor_;
};

}  // namespace sluice::testing
