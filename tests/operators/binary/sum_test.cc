#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include "tests/operators/harness/op_case.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using ::sluice::testing::InferOpShapes;

TEST(Sum, IntegersWrapAround) {
  const Tensor x = Tensor::FromVector<int8_t>({1}, {127});
  EXPECT_EQ(RunOp("sum", {{"X", x}, {"X", x}})["Out"].ToVector<int8_t>()[0],
            -2);
}

TEST(Sum, HalvesRoundOnce) {
  // 2048 + 1 + 1; a float16 of this size keeps even numbers only.
  const auto half = [](uint16_t bits) {
    return Tensor::FromVector<float16>({1}, {{bits}});
  };
  const Tensor one = half(0x3C00);
  EXPECT_EQ(RunOp("sum", {{"X", half(0x6800)}, {"X", one}, {"X", one}})["Out"]
                .ToVector<float16>()[0],
            float16{0x6801});
}

TEST(Sum, InfersWhatAnyInputKnows) {
  EXPECT_EQ(InferOpShapes("sum", {{"X", {-1, 3}}, {"X", {4, -1}}}).at("Out"),
            DDim({4, 3}));
}

TEST(Sum, IsTheFrameworksSum) {
  EXPECT_EQ(Registry::Global().Schema("sum").role(), OpRole::kSum);
}

}  // namespace
}  // namespace sluice

// The case with which the harness tests every kernel of the op.
namespace sluice::testing {
namespace {

std::vector<OpExample> SumExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  for (const DDim& dims : {DDim{3, 5}, {}, {1}, {4, 0}, {271, 301}}) {
    OpExample example;
    for (int i = 0; i < 3; ++i) {
      example.inputs.emplace_back("X", make.Values(dims));
      examples.push_back(example);
    }
  }
  return examples;
}

Arrays SumReference(const Arrays& in, const OpDesc& /*op*/) {
  Array out(in.at("X").dims);
  for (const auto& [name, x] : in) {
    for (size_t i = 0; i < out.values.size(); ++i) {
      out.values[i] += x.values[i];
    }
  }
  return {{"Out", out}};
}

REGISTER_OP_CASE(sum, SumExamples, SumReference);

}  // namespace
}  // namespace sluice::testing
