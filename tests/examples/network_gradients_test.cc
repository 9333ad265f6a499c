// Compares the gradients of AppendBackward for whole networks with central
// differences in float64.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sluice/sluice.h"

namespace sluice {
namespace {

// Numbers around 0, equal in every call.
std::vector<double> Numbers(int64_t count, double phase) {
  std::vector<double> numbers(static_cast<size_t>(count));
  for (size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = 0.6 * std::sin(1.7 * static_cast<double>(i) + phase);
  }
  return numbers;
}

class NetworkGradients : public ::testing::Test {
 protected:
  Var Data(const std::string& name, const DDim& dims) {
    feeds_.emplace_back(
        name,
        Tensor::FromVector<double>(
            dims, Numbers(dims.numel(), static_cast<double>(feeds_.size()))));
    return program_.Data(name, DType::kFloat64, dims);
  }
  Var Integers(const std::string& name,
               const DDim& dims,
               const std::vector<int64_t>& values) {
    feeds_.emplace_back(name, Tensor::FromVector<int64_t>(dims, values));
    return program_.Data(name, DType::kInt64, dims);
  }
  Var Parameter(const DDim& dims) {
    const std::string name = "p" + std::to_string(count_++);
    Value(name) = Tensor::FromVector<double>(
        dims, Numbers(dims.numel(), static_cast<double>(count_)));
    return program_.Persistable(name, DType::kFloat64, dims);
  }
  Tensor& Value(const std::string& name) {
    return *executor_.scope().Var(name).GetMutable<Tensor>();
  }
  double Run(const std::string& fetch, Tensor* result = nullptr) {
    executor_.scope().set_step(3);  // dropout draws the same numbers again
    const Tensor value = executor_.Run(program_, feeds_, {fetch})[0];
    if (result != nullptr) *result = value;
    return value.numel() == 0 ? 0 : value.data<double>()[0];
  }

  void ExpectRight(const Var& loss, size_t gradients) {
    const auto pairs = AppendBackward(loss);
    EXPECT_EQ(pairs.size(), gradients);
    for (const auto& [param, grad] : pairs) {
      Tensor got;
      Run(grad, &got);
      EXPECT_EQ(got.dims(), Value(param).dims());
      double largest = 0;
      const int64_t stride = 1 + got.numel() / 40;
      for (int64_t i = 0; i < got.numel(); i += stride) {
        const double n = Difference(loss, param, i);
        const double a = got.data<double>()[i];
        largest = std::max(largest, std::abs(a));
        EXPECT_NEAR(a, n, 1e-8 * std::max(1.0, std::abs(n)))
            << param << "[" << i << "]";
      }
      EXPECT_GT(largest, 1e-6) << "no gradient to speak of reaches " << param;
    }
  }

  // A five-point formula, with an error of the fourth order.
  double Difference(const Var& loss, const std::string& param, int64_t i) {
    constexpr double kStep = 1e-3;
    const Tensor before = Value(param);
    const auto at = [&](double steps) {
      Value(param) = before.CopyTo(PlaceKey());
      Value(param).data<double>()[i] += steps * kStep;
      return Run(loss.name());
    };
    const double n = (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * kStep);
    Value(param) = before;
    return n;
  }

  Program program_;
  Executor executor_;
  Feeds feeds_;
  int count_ = 0;
};

TEST_F(NetworkGradients, SharedWeights) {
  const Var w = Parameter({8, 8});
  const Var first = ops::Mul(Data("x", {3, 8}), w);
  const Var both = ops::ElementwiseAdd(ops::Mul(first, w), first);
  ExpectRight(ops::Mean(ops::Square(both)), 1);
}

TEST_F(NetworkGradients, Convolutions) {
  const Var x = Data("x", {2, 3, 8, 8});
  Var h = ops::Conv2d(x, Parameter({4, 3, 3, 3}), {.paddings = {1, 1}});
  h = ops::BiasAdd(h, Parameter({4}));
  h = ops::Pool2d(ops::Tanh(h),
                  {.pooling_type = "avg", .ksize = {2, 2}, .strides = {2, 2}});
  h = ops::Conv2d(h, Parameter({4, 2, 3, 3}), {.strides = {2, 2}, .groups = 2});
  h = ops::Dropout(ops::Sigmoid(h), {.dropout_prob = 0.25, .seed = 5}).out;
  const Var logits = ops::Mul(h, Parameter({4, 5}));
  const Var label = Integers("label", {2, 1}, {3, 0});
  ExpectRight(ops::Mean(ops::SoftmaxWithCrossEntropy(logits, label).loss), 4);
}

TEST_F(NetworkGradients, BatchNorm) {
  const Var x = Data("x", {4, 3, 2, 2});
  const Var w = Parameter({3, 3, 1, 1});
  const Var scale = Parameter({3});
  const Var bias = Parameter({3});
  const Var mean = Parameter({3});  // gets no gradient
  const Var variance = Parameter({3});
  const Var h = ops::BatchNorm(ops::Conv2d(x, w), scale, bias, mean, variance,
                               {.epsilon = 0.1})
                    .y;
  const auto before = Value(mean.name()).ToVector<double>();
  ExpectRight(ops::Mean(ops::Square(ops::Tanh(h))), 3);
  EXPECT_NE(Value(mean.name()).ToVector<double>(), before);
}

TEST_F(NetworkGradients, EmbeddingsWithACrf) {
  const Var ids = Integers("ids", {2, 3, 1}, {0, 4, 4, 1, 2, 0});
  const Var h = ops::LookupTable(Parameter({5, 4}), ids);
  const Var emission =
      ops::Mul(ops::Tanh(h), Parameter({4, 3}), {.x_num_col_dims = 2});
  const Var cost = ops::LinearChainCrf(
      emission, Parameter({5, 3}), Integers("tags", {2, 3}, {0, 1, 2, 2, 1, 0}),
      {.length = Integers("length", {2}, {3, 2})});
  ExpectRight(ops::Mean(cost), 3);
}

TEST_F(NetworkGradients, ArithmeticWithBroadcasting) {
  const Var a = Parameter({2, 3, 4});
  const Var b = Parameter({3});
  const Var product = ops::ElementwiseMul(a, b, {.axis = 1});
  const Var quotient =
      ops::ElementwiseDiv(product, ops::Exp(ops::Reshape(a, {2, 3, 4})));
  const Var moved = ops::Transpose(
      ops::ElementwiseSub(quotient, ops::Scale(a, {.scale = 3.0, .bias = 1.0})),
      {2, 0, 1});
  ExpectRight(ops::Mean(ops::Square(ops::ReduceSum(moved, {.dim = {0}}))), 2);
}

}  // namespace
}  // namespace sluice
