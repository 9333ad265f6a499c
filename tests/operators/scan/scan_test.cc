#include <cmath>
#include <limits>
#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include "tests/operators/harness/op_case.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

// cumsum and cumprod.
namespace sluice {
namespace {

using ::sluice::testing::InferOpShapes;

// A float sum of ones stays at 2^24 forever.
TEST(Scan, SumsOfFloatsAreMadeInDouble) {
  std::vector<float> values(40, 1);
  values[0] = 16777216;
  const Tensor x = Tensor::FromVector<float>({40}, values);
  EXPECT_EQ(RunOp("cumsum", {{"X", x}})["Out"].ToVector<float>().back(),
            16777216 + 40);
}

TEST(Scan, NanAndInfinityReachWhatFollows) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Tensor x =
      Tensor::FromVector<float>({4}, {1, kInfinity, -kInfinity, 0});
  const auto sum = RunOp("cumsum", {{"X", x}})["Out"].ToVector<float>();
  EXPECT_EQ(sum[0], 1);
  EXPECT_EQ(sum[1], kInfinity);
  EXPECT_TRUE(std::isnan(sum[2]) && std::isnan(sum[3]));
  const auto product = RunOp("cumprod", {{"X", x}})["Out"].ToVector<float>();
  EXPECT_EQ(product[2], -kInfinity);
  EXPECT_TRUE(std::isnan(product[3]));
}

TEST(Scan, IntegersWrapAround) {
  const Tensor x = Tensor::FromVector<int32_t>(
      {2}, {std::numeric_limits<int32_t>::max(), 2});
  EXPECT_EQ(RunOp("cumsum", {{"X", x}})["Out"].ToVector<int32_t>()[1],
            std::numeric_limits<int32_t>::min() + 1);
  EXPECT_EQ(RunOp("cumprod", {{"X", x}})["Out"].ToVector<int32_t>()[1], -2);
}

// Quotients by elements of 0 would be NaN.
TEST(Cumprod, ZerosHaveGradients) {
  const Tensor x = Tensor::FromVector<double>({4}, {2, 0, 5, 0});
  const Tensor grad = Tensor::FromVector<double>({4}, {1, 1, 1, 1});
  EXPECT_EQ(RunOp("cumprod_grad", {{"X", x}, {"Out@GRAD", grad}})["X@GRAD"]
                .ToVector<double>(),
            (std::vector<double>{1, 12, 0, 0}));
}

TEST(Scan, InfersWhatIsKnown) {
  const AttributeMap flat = {{"flatten", true}};
  EXPECT_EQ(InferOpShapes("cumsum", {{"X", {-1, 3}}})["Out"], DDim({-1, 3}));
  EXPECT_EQ(InferOpShapes("cumsum", {{"X", {-1, 3}}}, flat)["Out"], DDim({-1}));
  EXPECT_EQ(InferOpShapes("cumsum", {{"X", {2, 3}}}, flat)["Out"], DDim({6}));
  EXPECT_EQ(InferOpShapes("cumsum", {{"X", DDim()}}, flat)["Out"], DDim({1}));
  EXPECT_EQ(InferOpShapes("cumprod", {{"X", {2, -1}}, {"Axis", DDim()}})["Out"],
            DDim({2, -1}));
}

}  // namespace
}  // namespace sluice

// The cases with which the harness tests every kernel of the ops.
namespace sluice::testing {
namespace {

std::vector<OpExample> Examples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  const auto add = [&](const DDim& dims, int64_t axis) {
    const size_t number = examples.size();
    examples.push_back({{{"X", make.Values(dims)}},
                        {{"axis", axis},
                         {"exclusive", number % 2 == 1},
                         {"reverse", number % 3 == 1}}});
  };
  add({7}, 0);
  add({5, 3}, 1);
  add({2, 3, 5}, 1);
  add({3, 5}, -1);
  add({3, 5}, 0);
  add({1, 1}, -1);
  add({0, 5}, 1);
  add({5, 0, 3}, 1);
  add({3, 200}, 1);
  add({2, 131, 67}, 1);
  add({301, 203}, 1);
  examples.push_back({{{"X", make.Values({3, 5})}}, {{"flatten", true}}});
  return examples;
}

// Factors around 1, so that long products neither vanish nor overflow, with
// some zeros; small integers that wrap around in no dtype.
std::vector<OpExample> ProductExamples(ExampleMaker& make) {
  std::vector<OpExample> examples = Examples(make);
  for (OpExample& example : examples) {
    Tensor& x = example.inputs[0].second;
    if (!IsFloating(x.dtype())) {
      x = make.Integers(x.dtype(), x.dims(), -1, 1);
      continue;
    }
    Array values = ToArray(x);
    for (size_t i = 0; i < values.values.size(); ++i) {
      double& value = values.values[i];
      value = i % 50 == 20 ? 0 : (value < 0 ? -1 : 1) + value / 16;
    }
    x = ToTensor(values, x.dtype());
  }
  return examples;
}

template <auto Forward>
std::vector<OpExample> GradExamples(ExampleMaker& make) {
  std::vector<OpExample> examples = Forward(make);
  for (OpExample& example : examples) {
    const DDim x = example.inputs[0].second.dims();
    const bool flat = example.attributes.contains("flatten");
    example.inputs.emplace_back("Out@GRAD",
                                make.Values(flat ? DDim{x.numel()} : x));
  }
  return examples;
}

// Calls visit(elements that out[i] depends on, i) for all i.
template <typename Visit>
void ForEachPart(const DDim& x, const OpDesc& op, const Visit& visit) {
  const bool flat = GetAttr<bool>(op, "flatten");
  const DDim dims = flat ? DDim{x.numel()} : x;
  const auto axis = flat ? 0 : GetAttr<int64_t>(op, "axis");
  const auto at = static_cast<int>(axis < 0 ? axis + dims.rank() : axis);
  const int64_t inner = dims.Product(at + 1, dims.rank());
  const bool exclusive = GetAttr<bool>(op, "exclusive");
  const bool reverse = GetAttr<bool>(op, "reverse");
  for (int64_t line = 0; line < dims.Product(0, at) * inner; ++line) {
    const int64_t first = line / inner * dims[at] * inner + line % inner;
    for (int64_t i = 0; i < dims[at]; ++i) {
      std::vector<size_t> part;
      for (int64_t j = 0; j < dims[at]; ++j) {
        const bool before = reverse ? j > i : j < i;
        if (before || (j == i && !exclusive)) {
          part.push_back(static_cast<size_t>(first + j * inner));
        }
      }
      visit(part, static_cast<size_t>(first + i * inner));
    }
  }
}

DDim OutDims(const DDim& x, const OpDesc& op) {
  return GetAttr<bool>(op, "flatten") ? DDim{x.numel()} : x;
}

Arrays CumsumReference(const Arrays& in, const OpDesc& op) {
  const Array& x = in.at("X");
  Array out(OutDims(x.dims, op));
  ForEachPart(x.dims, op, [&](const std::vector<size_t>& part, size_t i) {
    for (const size_t j : part) {
      out.values[i] += x.values[j];
    }
  });
  return {{"Out", out}};
}

Arrays CumprodReference(const Arrays& in, const OpDesc& op) {
  const Array& x = in.at("X");
  Array out(OutDims(x.dims, op));
  ForEachPart(x.dims, op, [&](const std::vector<size_t>& part, size_t i) {
    out.values[i] = 1;
    for (const size_t j : part) {
      out.values[i] *= x.values[j];
    }
  });
  return {{"Out", out}};
}

Arrays CumsumGradReference(const Arrays& in, const OpDesc& op) {
  Array x_grad(in.at("X").dims);
  ForEachPart(x_grad.dims, op, [&](const std::vector<size_t>& part, size_t i) {
    for (const size_t j : part) {
      x_grad.values[j] += in.at("Out@GRAD").values[i];
    }
  });
  return {{"X@GRAD", x_grad}};
}

// The gradient of a factor is the product of all others, from both sides.
Arrays CumprodGradReference(const Arrays& in, const OpDesc& op) {
  const Array& x = in.at("X");
  Array x_grad(x.dims);
  ForEachPart(x.dims, op, [&](const std::vector<size_t>& part, size_t i) {
    std::vector<double> before(part.size() + 1, 1);
    for (size_t k = 0; k < part.size(); ++k) {
      before[k + 1] = before[k] * x.values[part[k]];
    }
    double behind = in.at("Out@GRAD").values[i];
    for (size_t k = part.size(); k-- > 0;) {
      x_grad.values[part[k]] += before[k] * behind;
      behind *= x.values[part[k]];
    }
  });
  return {{"X@GRAD", x_grad}};
}

REGISTER_OP_CASE(cumsum, Examples, CumsumReference, 8);
REGISTER_OP_CASE(cumprod, ProductExamples, CumprodReference, 8);
REGISTER_OP_CASE(cumsum_grad, GradExamples<&Examples>, CumsumGradReference, 8);
REGISTER_OP_CASE(cumprod_grad,
                 GradExamples<&ProductExamples>,
                 CumprodGradReference,
                 64);

}  // namespace
}  // namespace sluice::testing
