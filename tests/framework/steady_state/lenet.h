#pragma once

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "sluice/sluice.h"

namespace sluice::testing {

// LeNet on 28x28 pixels (20 and 50 filters 5x5, 500 and 10 units), its training
// program and the values of its parameters.
class LeNet {
 public:
  LeNet() {
    const Var image = train.Data("image", DType::kFloat32, {-1, 1, 28, 28});
    const Var label = train.Data("label", DType::kInt64, {-1, 1});
    Var x = Layer(image, 1, 20);
    x = Layer(x, 20, 50);
    x = ops::Relu(Dense(x, 800, 500));
    logits = Dense(x, 500, 10);
    loss = ops::Mean(ops::SoftmaxWithCrossEntropy(logits, label).loss);
    infer = train.CloneForTest();
    Optimize(AppendBackward(loss));
  }

  // A seed always yields the same images.
  static Feeds TrainingFeeds(int64_t batch, unsigned seed = 1) {
    std::mt19937 random(seed);
    std::vector<float> pixels(static_cast<size_t>(batch * 784));
    for (float& pixel : pixels) {
      pixel = Uniform(&random);
    }
    std::vector<int64_t> labels(static_cast<size_t>(batch));
    for (int64_t& label : labels) {
      label = static_cast<int64_t>(random() % 10);
    }
    return {{"image", Tensor::FromVector<float>({batch, 1, 28, 28}, pixels)},
            {"label", Tensor::FromVector<int64_t>({batch, 1}, labels)}};
  }
  static Feeds InferenceFeeds(int64_t batch, unsigned seed = 1) {
    Feeds feeds = TrainingFeeds(batch, seed);
    feeds.pop_back();
    return feeds;
  }

  // Small random numbers, the same ones each time.
  void Start(Scope* scope) const {
    std::mt19937 random(7);
    for (const auto& var : train.block().vars()) {
      if (!var.persistable) continue;
      const float limit =
          1 / std::sqrt(static_cast<float>(var.dims.numel() / var.dims[0] + 1));
      std::vector<float> values(static_cast<size_t>(var.dims.numel()));
      for (float& value : values) {
        value = var.name == "rate" ? 0.01F : limit * (Uniform(&random) - 0.5F);
      }
      *scope->Var(var.name).GetMutable<Tensor>() =
          Tensor::FromVector<float>(var.dims, values);
    }
  }

  Program train;
  Program infer;
  Var loss;
  Var logits;
  int parameters = 0;

 private:
  static float Uniform(std::mt19937* random) {
    return static_cast<float>((*random)() >> 8) / (1 << 24);
  }

  Var Param(const DDim& dims) {
    return train.Persistable("p" + std::to_string(parameters++),
                             DType::kFloat32, dims);
  }
  Var Layer(const Var& x, int64_t channels, int64_t filters) {
    const Var image = ops::BiasAdd(
        ops::Conv2d(x, Param({filters, channels, 5, 5})), Param({filters}));
    return ops::Pool2d(
        ops::Relu(image),
        {.pooling_type = "max", .ksize = {2, 2}, .strides = {2, 2}});
  }
  Var Dense(const Var& x, int64_t inputs, int64_t outputs) {
    return ops::ElementwiseAdd(ops::Mul(x, Param({inputs, outputs})),
                               Param({outputs}), {.axis = 1});
  }
  void Optimize(const std::vector<ParamGrad>& gradients) {
    train.SetPurpose(OpPurpose::kOptimize);
    train.Persistable("rate", DType::kFloat32, {1});
    for (const auto& [param, grad] : gradients) {
      train.AppendOp(
          "sgd",
          {{"Param", {param}}, {"Grad", {grad}}, {"LearningRate", {"rate"}}},
          {}, {}, {{"ParamOut", {param}}});
    }
    train.SetPurpose(OpPurpose::kForward);
  }
};

}  // namespace sluice::testing
