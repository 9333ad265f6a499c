#include "sluice/laboratory/op_example.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/laboratory/lab_ops.h"
#include "tests/testing/expect_error.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/values/tensor_values.h"
#include "sluice/laboratory/example_op.h"

namespace sluice::testing {
namespace {

using sluice::OpExample;
using ::testing::Each;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(OpExample, IsTheSameAfterJson) {
  OpExample example;
  example.op = "crop";
  example.dtypes = {DType::kFloat32, DType::kInt64};
  example.inputs = {{.argument = "X", .dims = {3, 4}, .low = 0.25, .high = 2},
                    {.argument = "Offsets",
                     .of_kernel = false,
                     .dtype = DType::kInt32,
                     .dims = {2},
                     .low = 0,
                     .high = 1}};
  example.attributes = {{"shape", std::vector<int64_t>{2, 2}},
                        {"none", std::vector<int64_t>{}},
                        {"value", std::numeric_limits<double>::infinity()},
                        {"half", 0.5},
                        {"name", std::string("NCHW")},
                        {"on", true},
                        {"other", DType::kBool}};
  example.dtype_attributes = {"dtype"};
  const std::string json = ExampleToJson(example);
  const OpExample again = ExampleFromJson(json, "here");
  EXPECT_EQ(ExampleToJson(again), json);
  EXPECT_EQ(again.attributes, example.attributes);
  EXPECT_EQ(ToString(again, DType::kFloat16),
            ToString(example, DType::kFloat16));
  EXPECT_EQ(again.inputs[1].dtype, DType::kInt32);
  EXPECT_EQ(again.inputs[0].high, 2);
}

TEST(OpExample, OfAnotherFormIsRefusedByItsLine) {
  ExpectError(ErrorCode::kInvalidArgument, "op_example.json",
              {"mine.jsonl:3", "expected an example"},
              [] { ParseExamples("# mine\n\n{\"op\": 3}\n", "mine.jsonl"); });
}

TEST(KnownExamples, HaveTheArgumentsAndAttributesOfTheirOps) {
  const std::string right =
      R"({"op": "relu", "inputs": [["X", "T", [5], 0, 1]]})";
  EXPECT_EQ(ParseKnownExamples(right, "mine.jsonl").size(), 1);
  const auto parse = [](const std::string& op, const std::string& argument,
                        const std::string& attributes) {
    ParseKnownExamples(Format(R"(#
{{"op": "{}", "inputs": [["{}", "T", [5], 0, 1]], "attributes": {}}})",
                              op, argument, attributes),
                       "mine.jsonl");
  };
  ExpectError(ErrorCode::kNotFound, "registry.unknown_op",
              {"mine.jsonl:2", "rellu", "did you mean relu?"},
              [&] { parse("rellu", "X", "{}"); });
  ExpectError(ErrorCode::kNotFound, "op.unknown_argument",
              {"mine.jsonl:2", "relu: there is no input Input"},
              [&] { parse("relu", "Input", "{}"); });
  ExpectError(ErrorCode::kInvalidArgument, "op.argument_missing",
              {"mine.jsonl:2", "matmul: input Y is missing"},
              [&] { parse("matmul", "X", "{}"); });
  ExpectError(ErrorCode::kNotFound, "op.unknown_attribute",
              {"mine.jsonl:2", "relu: there is no attribute axis"},
              [&] { parse("relu", "X", R"({"axis": 1})"); });
}

TEST(OpExamples, AreThereForEachOpOfSluice) {
  for (const std::string& op : Registry::Global().OpNames()) {
    if (op.starts_with("test_")) continue;
    const auto& schema = Registry::Global().Schema(op);
    if (schema.internal() || schema.holds_blocks()) continue;
    EXPECT_THAT(BuiltinExamples(op), Not(IsEmpty())) << op;
  }
}

TEST(GuessedExamples, AreThoseOfAnOpThatIsLikeIt) {
  UseLabOps();
  const auto examples =
      GuessExamples(Registry::Global().Schema("test_lab"), DType::kFloat64);
  ASSERT_THAT(examples, Not(IsEmpty()));
  EXPECT_EQ(ToString(examples[0], DType::kFloat64), "X float64 [3, 7]");
}

TEST(OtherSizes, ChangeEqualSizesAlike) {
  const OpExample example = ExampleFromJson(
      R"({"op": "mul", "inputs": [["X", "T", [3, 5], -1, 1],
          ["Y", "T", [5, 7], -1, 1]]})",
      "here");
  std::vector<std::string> texts;
  for (const OpExample& other : OtherSizes(example)) {
    texts.push_back(ToString(other, DType::kFloat32));
  }
  EXPECT_THAT(texts,
              ::testing::Contains("X float32 [3, 17], Y float32 [17, 7]"));
}

TEST(LargerExample, HasIntegersThatFloat32DoesNotHold) {
  OpExample example = BuiltinExamples("transpose").front();
  ASSERT_TRUE(MakeLarger(DType::kInt32, &example));
  const ExampleOp made(example, DType::kInt32);
  const auto values = made.op().inputs[0].ToVector<int32_t>();
  EXPECT_TRUE(std::any_of(values.begin(), values.end(), [](int32_t value) {
    return static_cast<int32_t>(static_cast<float>(value)) != value;
  }));
}

TEST(ExampleOp, DrawsNumbersFromTheRange) {
  const OpExample example = ExampleFromJson(
      R"({"op": "relu", "inputs": [["X", "T", [40], 0.5, 2]]})", "here");
  const ExampleOp made(example, DType::kFloat32);
  const auto values = ToDoubles(made.op().inputs[0]);
  EXPECT_THAT(values,
              Each(::testing::AllOf(::testing::Ge(0.5), ::testing::Le(2))));
  EXPECT_NE(values[0], values[1]);
}

TEST(ExampleOpDeathTest, EndsAtAPageThatNobodyMayTouch) {
  const OpExample example = ExampleFromJson(
      R"({"op": "relu", "inputs": [["X", "T", [5], 0, 1]]})", "here");
  const ExampleOp made(example, DType::kFloat32);
  const float* x = made.op().inputs[0].data<float>();
  EXPECT_TRUE(std::isnan(x[5]));
  EXPECT_DEATH(
      {
        volatile float past = x[16];
        static_cast<void>(past);
      },
      "");
}

TEST(ExampleOp, GivesAGradientTheOutputsOfItsInputs) {
  const OpExample example = ExampleFromJson(
      R"({"op": "elementwise_div_grad", "inputs": [["X", "T", [3], 1, 2],
          ["Y", "T", [3], 1, 2], ["Out", "T", [3], 5, 6],
          ["Out@GRAD", "T", [3], 1, 2]]})",
      "here");
  const ExampleOp made(example, DType::kFloat64);
  const auto& inputs = made.op().inputs;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(inputs[2].data<double>()[i],
              inputs[0].data<double>()[i] / inputs[1].data<double>()[i]);
  }
}

}  // namespace
}  // namespace sluice::testing
