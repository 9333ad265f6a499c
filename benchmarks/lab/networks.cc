#include "benchmarks/lab/networks.h"

#include <functional>
#include <random>
#include <utility>

#include "benchmarks/bench_util.h"

#include "sluice/nn.h"
#include "sluice/sluice.h"

namespace sluice::bench {
namespace {

using Ints = std::vector<int64_t>;

class Builder {
 public:
  Builder(const std::string& name, bool train, Scope* scope)
      : train_(train), scope_(scope) {
    network_.name = name + (train ? "_train" : "_forward");
  }

  Var Feed(const std::string& name, const DDim& dims) {
    network_.feeds.emplace_back(name, RandomTensor("gaussian_random", dims, 1));
    return network_.program.Data(name, DType::kFloat32, dims);
  }

  Var Conv(const Var& x,
           int64_t out,
           int64_t kernel,
           int64_t stride,
           int64_t padding,
           bool depthwise = false) {
    return nn::Conv2d(x, out, kernel,
                      {.stride = stride,
                       .padding = padding,
                       .groups = depthwise ? x.dims()[1] : 1,
                       .filter = Weight(),
                       .bias = std::nullopt,
                       .name = NextName()});
  }

  Var BatchNorm(const Var& x) { return nn::BatchNorm(x, {.name = NextName()}); }

  Var Dense(const Var& x, int64_t units) {
    return nn::Fc(x, units, {.weight = Weight(), .name = NextName()});
  }

  // The network, whose parameters are in the scope.
  Network Finish(const Var& logits) && {
    Var result = logits;
    if (train_) {
      const DDim rows = {logits.dims()[0], 1};
      std::vector<int64_t> labels(static_cast<size_t>(rows[0]));
      for (int64_t& label : labels) {
        label = static_cast<int64_t>(random_() % 10);
      }
      network_.feeds.emplace_back("label",
                                  Tensor::FromVector<int64_t>(rows, labels));
      const Var label = network_.program.Data("label", DType::kInt64, rows);
      result = ops::Mean(ops::SoftmaxWithCrossEntropy(logits, label).loss);
      nn::Momentum(0.01).Minimize(result);
    } else {
      network_.program = network_.program.CloneForTest();
    }
    network_.fetches = {result.name()};
    Executor().Run(startup_, {}, {}, scope_);
    return std::move(network_);
  }

 private:
  // All networks are in one scope.
  std::string NextName() {
    return network_.name + ".p" + std::to_string(parameters_++);
  }
  nn::ParamAttr Weight() {
    return {.name = NextName(), .initializer = nn::Msra({.seed = parameters_})};
  }

  Network network_;
  nn::Startup startup_;
  bool train_;
  Scope* scope_;
  std::mt19937 random_{1};
  int parameters_ = 0;
};

Var Pool(const Var& x, const std::string& type) {
  return ops::Pool2d(
      x, {.pooling_type = type, .ksize = {2, 2}, .strides = {2, 2}});
}

Var LeNet(Builder& net) {
  Var x = net.Feed("image", {16, 1, 28, 28});
  for (const int64_t filters : {20, 50}) {
    x = Pool(ops::Relu(net.Conv(x, filters, 5, 1, 0)), "max");
  }
  return net.Dense(ops::Relu(net.Dense(x, 500)), 10);
}

Var Mlp(Builder& net) {
  Var x = net.Feed("image", {64, 784});
  for (const int64_t units : {256, 128}) {
    x = ops::Relu(net.Dense(x, units));
  }
  return net.Dense(x, 10);
}

Var ResNet(Builder& net) {
  Var x = net.Feed("image", {4, 3, 64, 64});
  x = ops::Relu(net.BatchNorm(net.Conv(x, 16, 7, 2, 3)));
  x = Pool(x, "max");
  int64_t before = 16;
  for (const int64_t channels : {16, 32, 64, 128}) {
    for (int block = 0; block < 2; ++block) {
      const int64_t stride = channels != before ? 2 : 1;
      Var y = ops::Relu(net.BatchNorm(net.Conv(x, channels, 3, stride, 1)));
      y = net.BatchNorm(net.Conv(y, channels, 3, 1, 1));
      if (stride != 1) x = net.BatchNorm(net.Conv(x, channels, 1, stride, 0));
      x = ops::Relu(ops::ElementwiseAdd(y, x));
      before = channels;
    }
  }
  return net.Dense(Pool(x, "avg"), 10);
}

Var MobileNet(Builder& net) {
  Var x = net.Feed("image", {4, 3, 64, 64});
  x = ops::Relu(net.BatchNorm(net.Conv(x, 8, 3, 2, 1)));
  int64_t channels = 8;
  constexpr std::pair<int64_t, int64_t> kLayers[] = {
      {16, 1},  {32, 2},  {32, 1},  {64, 2},  {64, 1},  {128, 2}, {128, 1},
      {128, 1}, {128, 1}, {128, 1}, {128, 1}, {256, 2}, {256, 1}};
  for (const auto& [out, stride] : kLayers) {
    x = ops::Relu(net.BatchNorm(net.Conv(x, channels, 3, stride, 1, true)));
    x = ops::Relu(net.BatchNorm(net.Conv(x, out, 1, 1, 0)));
    channels = out;
  }
  return net.Dense(Pool(x, "avg"), 10);
}

}  // namespace

std::vector<Network> LabNetworks(Scope* scope) {
  const std::pair<const char*, std::function<Var(Builder&)>> networks[] = {
      {"lenet", &LeNet},
      {"mlp", &Mlp},
      {"resnet18", &ResNet},
      {"mobilenet", &MobileNet}};
  std::vector<Network> all;
  for (const auto& [name, build] : networks) {
    for (const bool train : {false, true}) {
      Builder builder(name, train, scope);
      const Var logits = build(builder);
      all.push_back(std::move(builder).Finish(logits));
    }
  }
  return all;
}

}  // namespace sluice::bench
