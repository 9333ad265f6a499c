#include <cmath>
#include <limits>
#include <vector>

#include "tests/operators/harness/harness.h"
#include "tests/operators/harness/op_case.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> Softmax(const std::vector<float>& x, int64_t axis = -1) {
  const auto size = static_cast<int64_t>(x.size());
  const Tensor row = Tensor::FromVector<float>({1, size, 1}, x);
  return RunOp("softmax", {{"X", row}}, {{"axis", axis}})["Out"]
      .ToVector<float>();
}

TEST(Softmax, MinusInfinityHasNoPart) {
  EXPECT_EQ(Softmax({0, -kInfinity, 0}, 1),
            (std::vector<float>{0.5F, 0, 0.5F}));
}

// The choice of a kernel must not decide whether a NaN is seen.
TEST(Softmax, EveryKernelKeepsNanAndInfinityAtEverySize) {
  using ::sluice::testing::Array;
  for (const KernelDef* kernel : ::sluice::testing::KernelsOf("softmax")) {
    for (const auto& dims : {DDim{2, 3}, DDim{64, 1000}}) {
      for (const double bad : {std::nan(""), double{kInfinity}}) {
        SCOPED_TRACE(ToString(*kernel) + " " + ToString(dims));
        Array x(dims);
        x(1, 2) = bad;
        const Array out = ::sluice::testing::ToArray(
            RunOp("softmax",
                  {{"X", ::sluice::testing::ToTensor(x, kernel->key.dtype)}},
                  {}, {.hint = ::sluice::testing::HintFor(*kernel)})["Out"]);
        for (int64_t i = 0; i < dims[1]; ++i) {
          ASSERT_TRUE(std::isnan(out(1, i))) << i;
          ASSERT_FALSE(std::isnan(out(0, i))) << i;
        }
      }
    }
  }
}

std::vector<float> LogSoftmax(const std::vector<float>& x) {
  const auto size = static_cast<int64_t>(x.size());
  const Tensor row = Tensor::FromVector<float>({1, size, 1}, x);
  return RunOp("log_softmax", {{"X", row}}, {{"axis", int64_t{1}}})["Out"]
      .ToVector<float>();
}

// Softmax would be 0 here, with a logarithm of -inf.
TEST(LogSoftmax, KeepsWhatSoftmaxRoundsTo0) {
  EXPECT_EQ(LogSoftmax({1000, 0}), (std::vector<float>{0, -1000}));
  EXPECT_EQ(LogSoftmax({1e30F, -1e30F}), (std::vector<float>{0, -2e30F}));
  EXPECT_EQ(LogSoftmax({0, -kInfinity}), (std::vector<float>{0, -kInfinity}));
  EXPECT_FLOAT_EQ(LogSoftmax({5, 5})[0], -std::log(2.0F));
}

TEST(LogSoftmax, NanAndInfinityMakeAllNan) {
  for (const float bad : {std::nanf(""), kInfinity}) {
    for (const int64_t size : {2, 17, 40}) {
      std::vector<float> x(size, 1);
      x[1] = bad;
      for (const float value : LogSoftmax(x)) {
        EXPECT_TRUE(std::isnan(value));
      }
    }
  }
}

}  // namespace
}  // namespace sluice

// The case with which the harness tests every kernel of the op.
namespace sluice::testing {
namespace {

std::vector<OpExample> SoftmaxExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  for (const auto& [dims, axis] :
       std::vector<std::pair<DDim, int64_t>>{{{3, 5}, -1},
                                             {{1}, 0},
                                             {{1, 1}, 0},
                                             {{0, 4}, 1},
                                             {{4, 0}, 1},
                                             {{2, 3, 5}, 1},
                                             {{7, 2, 3}, 0},
                                             {{3, 4, 19}, -2},
                                             {{61, 67, 5}, 1},
                                             {{3, 9001}, 0},
                                             {{257, 131}, -1}}) {
    examples.push_back({{{"X", make.Values(dims)}}, {{"axis", axis}}});
  }
  return examples;
}

// Calls visit(indices of one softmax) for each.
template <typename Visit>
void ForEachSoftmax(const DDim& dims, int64_t axis, const Visit& visit) {
  const auto at = static_cast<int>(axis < 0 ? axis + dims.rank() : axis);
  const int64_t inner = dims.Product(at + 1, dims.rank());
  for (int64_t outer = 0; outer < dims.Product(0, at); ++outer) {
    for (int64_t i = 0; i < inner; ++i) {
      std::vector<size_t> line;
      for (int64_t j = 0; j < dims[at]; ++j) {
        line.push_back((outer * dims[at] + j) * inner + i);
      }
      visit(line);
    }
  }
}

Array SoftmaxOf(const Array& x, int64_t axis) {
  Array out(x.dims);
  ForEachSoftmax(x.dims, axis, [&](const std::vector<size_t>& line) {
    long double sum = 0;
    for (const size_t i : line) {
      sum += std::exp(static_cast<long double>(x.values[i]));
    }
    for (const size_t i : line) {
      out.values[i] = static_cast<double>(
          std::exp(static_cast<long double>(x.values[i])) / sum);
    }
  });
  return out;
}

Arrays SoftmaxReference(const Arrays& in, const OpDesc& op) {
  return {{"Out", SoftmaxOf(in.at("X"), GetAttr<int64_t>(op, "axis"))}};
}

Arrays LogSoftmaxReference(const Arrays& in, const OpDesc& op) {
  Array out(in.at("X").dims);
  const std::vector<double>& x = in.at("X").values;
  ForEachSoftmax(out.dims, GetAttr<int64_t>(op, "axis"),
                 [&](const std::vector<size_t>& line) {
                   long double sum = 0;
                   for (const size_t i : line) {
                     sum += std::exp(static_cast<long double>(x[i]));
                   }
                   for (const size_t i : line) {
                     out.values[i] = static_cast<double>(x[i] - std::log(sum));
                   }
                 });
  return {{"Out", out}};
}

// Results of softmax, none above 0.5 except single elements: for larger ones
// the gradients rely on a sum of 1 (tests/python/formulas/ has them).
std::vector<OpExample> SoftmaxGradExamples(ExampleMaker& make) {
  std::vector<OpExample> examples = SoftmaxExamples(make);
  for (OpExample& example : examples) {
    Array x = ToArray(example.inputs[0].second);
    for (double& value : x.values) {
      value = std::tanh(value) / 4;
    }
    const Array out =
        SoftmaxOf(x, std::get<int64_t>(example.attributes.at("axis")));
    example.inputs = {{"Out", ToTensor(out, make.dtype())},
                      {"Out@GRAD", make.Values(x.dims)}};
  }
  return examples;
}

std::vector<OpExample> LogSoftmaxGradExamples(ExampleMaker& make) {
  std::vector<OpExample> examples = SoftmaxGradExamples(make);
  for (OpExample& example : examples) {
    Array out = ToArray(example.inputs[0].second);
    for (double& value : out.values) {
      value = std::log(value);
    }
    example.inputs[0].second = ToTensor(out, make.dtype());
  }
  return examples;
}

Arrays SoftmaxGradReference(const Arrays& in, const OpDesc& op) {
  const Array& out = in.at("Out");
  const Array& grad = in.at("Out@GRAD");
  Array x(out.dims);
  ForEachSoftmax(out.dims, GetAttr<int64_t>(op, "axis"),
                 [&](const std::vector<size_t>& line) {
                   for (const size_t i : line) {
                     for (const size_t j : line) {
                       x.values[i] += grad.values[j] * out.values[j] *
                                      ((i == j ? 1.0 : 0.0) - out.values[i]);
                     }
                   }
                 });
  return {{"X@GRAD", x}};
}

// Every Out depends on every X of its line.
Arrays LogSoftmaxGradReference(const Arrays& in, const OpDesc& op) {
  const Array& out = in.at("Out");
  const Array& grad = in.at("Out@GRAD");
  Array x(out.dims);
  ForEachSoftmax(out.dims, GetAttr<int64_t>(op, "axis"),
                 [&](const std::vector<size_t>& line) {
                   for (const size_t i : line) {
                     for (const size_t j : line) {
                       x.values[i] +=
                           grad.values[j] *
                           ((i == j ? 1.0 : 0.0) - std::exp(out.values[i]));
                     }
                   }
                 });
  return {{"X@GRAD", x}};
}

REGISTER_OP_CASE(softmax, SoftmaxExamples, SoftmaxReference, 4);
// Sums of up to 131 products.
REGISTER_OP_CASE(softmax_grad, SoftmaxGradExamples, SoftmaxGradReference, 64);
REGISTER_OP_CASE(log_softmax, SoftmaxExamples, LogSoftmaxReference, 8);
// Sums of up to 131 gradients, times exp(Out) of up to 8.
REGISTER_OP_CASE(log_softmax_grad,
                 LogSoftmaxGradExamples,
                 LogSoftmaxGradReference,
                 64);

}  // namespace
}  // namespace sluice::testing
