#include <string>
#include <vector>

#include "tests/operators/contraction/matmul_reference.h"
#include "tests/operators/harness/harness.h"
#include "tests/operators/harness/infer_op_shapes.h"
#include "tests/testing/cuda_device.h"
#include <gtest/gtest.h>

#include "sluice/framework/hints/kernel_hints.h"
#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using ::sluice::testing::InferOpShapes;

Tensor Numbers(const DDim& dims) {
  std::vector<float> values(dims.numel());
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i);
  }
  return Tensor::FromVector(dims, values);
}

Tensor Matmul(const Tensor& x,
              const Tensor& y,
              const AttributeMap& attributes = {}) {
  return RunOp("matmul", {{"X", x}, {"Y", y}}, attributes)["Out"];
}

TEST(Matmul, InfersWhatIsKnown) {
  EXPECT_EQ(InferOpShapes("matmul", {{"X", {-1, 3}}, {"Y", {3, 7}}})["Out"],
            DDim({-1, 7}));
  EXPECT_EQ(
      InferOpShapes("matmul", {{"X", {-1, 2, -1}}, {"Y", {4, 3, 7}}}).at("Out"),
      DDim({4, 2, 7}));
  EXPECT_FALSE(
      InferOpShapes("matmul", {{"X", DDim::UnknownRank()}, {"Y", {3, 7}}})
          .at("Out")
          .rank_known());
}

// Partial tiles, a batch, and strides of both transposed matrices.
TEST(Matmul, AHintChoosesTheProductOnCUDA) {
  const std::string why = ::sluice::testing::WhyNoCUDA();
  if (!why.empty()) GTEST_SKIP() << why;
  const std::vector<std::pair<std::string, Tensor>> inputs = {
      {"X", Numbers({3, 2, 17, 35})}, {"Y", Numbers({2, 33, 17})}};
  OneOp one =
      MakeOneOp("matmul", inputs,
                {{"transpose_X", true}, {"transpose_Y", true}, {"alpha", 0.5}});
  Executor executor{CUDAPlace{0}};
  const auto run = [&](const std::string& hint, const std::string& library) {
    const KernelHintGuard guard(hint);
    const auto plan = executor.Prepare(one.program, one.feeds, one.fetches);
    EXPECT_EQ(plan->decisions()[0].kernel->key.library, library);
    return executor.Run(one.program, one.feeds, one.fetches)[0]
        .ToVector<float>();
  };
  const auto own = run("require library=PLAIN, place=cuda:0", "PLAIN");
  EXPECT_EQ(own, run("require library=CUBLAS", "CUBLAS"));
  EXPECT_EQ(own, run("", "CUBLAS"));
}

}  // namespace
}  // namespace sluice

// The case with which the harness tests every kernel of the op.
namespace sluice::testing {
namespace {

OpExample Example(ExampleMaker& make, const MatmulCase& c, double alpha = 1) {
  return {{{"X", make.Values(c.x)}, {"Y", make.Values(c.y)}},
          {{"transpose_X", c.transpose_x},
           {"transpose_Y", c.transpose_y},
           {"alpha", alpha}}};
}

std::vector<OpExample> MatmulExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  for (int form = 0; form < 4; ++form) {
    const bool tx = form % 2 == 1, ty = form / 2 == 1;
    const auto add = [&](std::vector<int64_t> x, std::vector<int64_t> y) {
      if (tx) std::swap(x.back(), x[x.size() - 2]);
      if (ty) std::swap(y.back(), y[y.size() - 2]);
      examples.push_back(
          Example(make, {DDim(x), DDim(y), tx, ty}, form == 0 ? 1 : 0.5));
    };
    add({3, 5}, {5, 7});
    add({1, 1}, {1, 1});
    add({4, 0}, {0, 3});
    add({0, 2}, {2, 3});
    add({5, 2, 3}, {3, 4});
    add({2, 3}, {3, 3, 4});
    add({2, 1, 3, 2}, {1, 3, 2, 2});
    add({2, 3, 3, 2}, {2, 3, 2, 3});
    add({0, 2, 3}, {1, 3, 2});
    add({67, 129}, {129, 83});
    add({3, 33, 31}, {3, 31, 37});
  }
  examples.push_back(Example(make, {{5}, {5}}));
  examples.push_back(Example(make, {{5}, {3}, true, true}));
  examples.push_back(Example(make, {{5}, {2, 5, 3}}));
  examples.push_back(Example(make, {{2, 3, 5}, {5}}));
  examples.push_back(Example(make, {{5}, {2, 1, 3}, true}));
  return examples;
}

MatmulCase CaseOf(const Arrays& in, const OpDesc& op) {
  return {in.at("X").dims, in.at("Y").dims, GetAttr<bool>(op, "transpose_X"),
          GetAttr<bool>(op, "transpose_Y")};
}

Array Scaled(Array array, const OpDesc& op) {
  for (double& value : array.values) {
    value *= GetAttr<double>(op, "alpha");
  }
  return array;
}

std::vector<OpExample> MatmulGradExamples(ExampleMaker& make) {
  std::vector<OpExample> examples = MatmulExamples(make);
  for (OpExample& example : examples) {
    const MatmulCase c =
        CaseOf(InputArrays(example), DescribeExample("matmul", example));
    example.inputs.emplace_back("Out@GRAD", make.Values(MatmulOutDims(c)));
  }
  return examples;
}

Arrays MatmulReference(const Arrays& in, const OpDesc& op) {
  return {
      {"Out", Scaled(MatmulOut(CaseOf(in, op), in.at("X"), in.at("Y")), op)}};
}
Arrays MatmulGradXReference(const Arrays& in, const OpDesc& op) {
  return {
      {"X@GRAD",
       Scaled(MatmulXGrad(CaseOf(in, op), in.at("Out@GRAD"), in.at("Y")), op)}};
}
Arrays MatmulGradYReference(const Arrays& in, const OpDesc& op) {
  return {
      {"Y@GRAD",
       Scaled(MatmulYGrad(CaseOf(in, op), in.at("Out@GRAD"), in.at("X")), op)}};
}

// Up to 258 terms.
REGISTER_OP_CASE(matmul, MatmulExamples, MatmulReference, 16);
REGISTER_OP_CASE(matmul_grad_x, MatmulGradExamples, MatmulGradXReference, 16);
REGISTER_OP_CASE(matmul_grad_y, MatmulGradExamples, MatmulGradYReference, 16);

}  // namespace
}  // namespace sluice::testing
