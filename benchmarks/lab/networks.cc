#include "benchmarks/lab/networks.h"

#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <utility>

#include "sluice/framework/program/backward.h"
#include "sluice/platform/error.h"

namespace sluice::bench {
namespace {

using framework::Scope;
using framework::Tensor;
using platform::DType;
using platform::Format;
using Ints = std::vector<int64_t>;
using Name = std::string;

class Builder {
 public:
  Builder(std::string name, bool train, Scope* scope)
      : train_(train), scope_(scope) {
    network_.name = name + (train ? "_train" : "_forward");
  }

  Name Feed(const std::string& name, const Ints& dims) {
    network_.program.Data(name, DType::kFloat32, framework::DDim(dims));
    network_.feeds.emplace_back(name, Normal(dims, 1));
    return name;
  }

  Name Conv(const Name& x,
            int64_t out,
            int64_t kernel,
            int64_t stride,
            int64_t padding,
            bool depthwise = false) {
    const int64_t channels = Dim(x, 1);
    const int64_t groups = depthwise ? channels : 1;
    const Name filter = Parameter(
        {out, channels / groups, kernel, kernel},
        std::sqrt(2.0F /
                  static_cast<float>(channels / groups * kernel * kernel)));
    return Add("conv2d", {{"Input", {x}}, {"Filter", {filter}}},
               {{"strides", Ints{stride, stride}},
                {"paddings", Ints{padding, padding}},
                {"groups", groups}},
               "Output");
  }

  Name BatchNorm(const Name& x) {
    const int64_t channels = Dim(x, 1);
    const Name mean = Constant({channels}, 0, false);
    const Name variance = Constant({channels}, 1, false);
    return Add("batch_norm",
               {{"X", {x}},
                {"Scale", {Constant({channels}, 1, true)}},
                {"Bias", {Constant({channels}, 0, true)}},
                {"Mean", {mean}},
                {"Variance", {variance}}},
               {{"is_test", !train_}}, "Y");
  }

  Name Relu(const Name& x) { return Add("relu", {{"X", {x}}}, {}, "Out"); }
  Name Sum(const Name& x, const Name& y) {
    return Add("elementwise_add", {{"X", {x}}, {"Y", {y}}}, {}, "Out");
  }
  Name Pool(const Name& x,
            const std::string& type,
            int64_t size,
            int64_t stride) {
    return Add("pool2d", {{"X", {x}}},
               {{"pooling_type", type},
                {"ksize", Ints{size, size}},
                {"strides", Ints{stride, stride}}},
               "Out");
  }

  Name Dense(const Name& x, int64_t units) {
    int64_t inputs = 1;
    for (int axis = 1; axis < network_.program.FindVar(x).dims.rank(); ++axis) {
      inputs *= Dim(x, axis);
    }
    const Name weight = Parameter({inputs, units},
                                  std::sqrt(2.0F / static_cast<float>(inputs)));
    const Name product = Add("mul", {{"X", {x}}, {"Y", {weight}}}, {}, "Out");
    return Add("bias_add",
               {{"X", {product}}, {"Bias", {Constant({units}, 0, true)}}}, {},
               "Out");
  }

  Network Finish(const Name& logits) && {
    if (!train_) {
      network_.fetches = {logits};
      return std::move(network_);
    }
    const int64_t rows = Dim(logits, 0);
    network_.program.Data("label", DType::kInt64, {rows, 1});
    std::vector<int64_t> labels(static_cast<size_t>(rows));
    for (int64_t& label : labels) {
      label = static_cast<int64_t>(random_() % 10);
    }
    network_.feeds.emplace_back("label",
                                Tensor::FromVector<int64_t>({rows, 1}, labels));
    const Name losses =
        Add("softmax_with_cross_entropy",
            {{"Logits", {logits}}, {"Label", {"label"}}}, {}, "Loss");
    const Name loss = Add("mean", {{"X", {losses}}}, {}, "Out");
    const auto gradients = framework::AppendBackward(network_.program, loss,
                                                     {.parameters = trained_});
    const Name rate = Constant({1}, 0.01F, false);
    for (const framework::ParamGrad& pair : gradients) {
      const auto& dims = network_.program.FindVar(pair.param).dims;
      const Name velocity = Constant(Ints(dims.begin(), dims.end()), 0, false);
      network_.program.AppendOp("momentum",
                                {{"Param", {pair.param}},
                                 {"Grad", {pair.grad}},
                                 {"Velocity", {velocity}},
                                 {"LearningRate", {rate}}},
                                {{"mu", 0.9}});
    }
    network_.fetches = {loss};
    return std::move(network_);
  }

 private:
  int64_t Dim(const Name& var, int axis) const {
    return network_.program.FindVar(var).dims[axis];
  }

  Name Add(const char* op,
           framework::Program::ArgList inputs,
           framework::AttributeMap attributes,
           const char* output) {
    network_.program.AppendOp(op, std::move(inputs), std::move(attributes));
    return network_.program.Output(output).name();
  }

  Tensor Normal(const Ints& dims, float scale) {
    std::normal_distribution<float> normal;
    Tensor tensor;
    float* values =
        tensor.mutable_data<float>(framework::DDim(dims), platform::CPUPlace());
    for (int64_t i = 0; i < tensor.numel(); ++i) {
      values[i] = scale * normal(random_);
    }
    return tensor;
  }

  Name Keep(const Tensor& value, bool trained) {
    const Name name = Format("{}.p{}", network_.name, parameters_++);
    network_.program.Persistable(name, DType::kFloat32, value.dims());
    *scope_->Var(name).GetMutable<Tensor>() = value;
    if (trained) trained_.push_back(name);
    return name;
  }
  Name Parameter(const Ints& dims, float scale) {
    return Keep(Normal(dims, scale), true);
  }
  Name Constant(const Ints& dims, float value, bool trained) {
    const framework::DDim shape(dims);
    const std::vector<float> values(static_cast<size_t>(shape.numel()), value);
    return Keep(Tensor::FromVector<float>(shape, values), trained);
  }

  Network network_;
  bool train_;
  Scope* scope_;
  std::mt19937 random_{1};
  int parameters_ = 0;
  std::vector<std::string> trained_;
};

Name LeNet(Builder& net) {
  Name x = net.Feed("image", {16, 1, 28, 28});
  for (const int64_t filters : {20, 50}) {
    x = net.Pool(net.Relu(net.Conv(x, filters, 5, 1, 0)), "max", 2, 2);
  }
  return net.Dense(net.Relu(net.Dense(x, 500)), 10);
}

Name Mlp(Builder& net) {
  Name x = net.Feed("image", {64, 784});
  for (const int64_t units : {256, 128}) {
    x = net.Relu(net.Dense(x, units));
  }
  return net.Dense(x, 10);
}

Name ResNet(Builder& net) {
  Name x = net.Feed("image", {4, 3, 64, 64});
  x = net.Relu(net.BatchNorm(net.Conv(x, 16, 7, 2, 3)));
  x = net.Pool(x, "max", 2, 2);
  int64_t before = 16;
  for (const int64_t channels : {16, 32, 64, 128}) {
    for (int block = 0; block < 2; ++block) {
      const int64_t stride = channels != before ? 2 : 1;
      Name y = net.Relu(net.BatchNorm(net.Conv(x, channels, 3, stride, 1)));
      y = net.BatchNorm(net.Conv(y, channels, 3, 1, 1));
      if (stride != 1) x = net.BatchNorm(net.Conv(x, channels, 1, stride, 0));
      x = net.Relu(net.Sum(y, x));
      before = channels;
    }
  }
  return net.Dense(net.Pool(x, "avg", 2, 2), 10);
}

Name MobileNet(Builder& net) {
  Name x = net.Feed("image", {4, 3, 64, 64});
  x = net.Relu(net.BatchNorm(net.Conv(x, 8, 3, 2, 1)));
  int64_t channels = 8;
  constexpr std::pair<int64_t, int64_t> kLayers[] = {
      {16, 1},  {32, 2},  {32, 1},  {64, 2},  {64, 1},  {128, 2}, {128, 1},
      {128, 1}, {128, 1}, {128, 1}, {128, 1}, {256, 2}, {256, 1}};
  for (const auto& [out, stride] : kLayers) {
    x = net.Relu(net.BatchNorm(net.Conv(x, channels, 3, stride, 1, true)));
    x = net.Relu(net.BatchNorm(net.Conv(x, out, 1, 1, 0)));
    channels = out;
  }
  return net.Dense(net.Pool(x, "avg", 2, 2), 10);
}

}  // namespace

std::vector<Network> LabNetworks(Scope* scope) {
  const std::pair<const char*, std::function<Name(Builder&)>> networks[] = {
      {"lenet", &LeNet},
      {"mlp", &Mlp},
      {"resnet18", &ResNet},
      {"mobilenet", &MobileNet}};
  std::vector<Network> all;
  for (const auto& [name, build] : networks) {
    for (const bool train : {false, true}) {
      Builder builder(name, train, scope);
      const Name logits = build(builder);
      all.push_back(std::move(builder).Finish(logits));
    }
  }
  return all;
}

}  // namespace sluice::bench
