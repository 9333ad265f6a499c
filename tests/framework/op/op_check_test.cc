#include "sluice/framework/op/op_check.h"

#include <limits>

#include "tests/framework/test_ops.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/op/registry.h"

namespace sluice {
namespace {

using sluice::testing::ExpectError;

class OpCheckTest : public ::testing::Test {
 protected:
  OpCheckTest() {
    sluice::testing::UseTestOps();
    op_.type = "test_many";
    op_.inputs = {{"Xs", {"a", "b"}}, {"Index", {"i"}}};
    op_.attributes["number"] = int64_t{3};
  }
  const OpSchema& schema() const {
    return Registry::Global().Schema("test_many");
  }
  void Complete() { CompleteOp(schema(), &op_); }

  OpDesc op_;
};

TEST_F(OpCheckTest, OrdersArgumentsAndFillsInDefaults) {
  Complete();
  EXPECT_EQ(op_.inputs[0].first, "Index");
  EXPECT_EQ(op_.inputs[1].first, "Xs");
  EXPECT_EQ(FlatInputs(schema(), op_),
            (std::vector<std::string>{"i", "a", "b"}));
  EXPECT_EQ(op_.attributes.size(), schema().attributes().size());
  EXPECT_EQ(std::get<double>(op_.attributes["ratio"]), 0.5);
}

TEST_F(OpCheckTest, NamesUnknownArguments) {
  op_.inputs.emplace_back("Indeks", ArgVars{"i"});
  ExpectError(ErrorCode::kNotFound, "op.unknown_argument",
              {"test_many", "input Indeks", "did you mean Index"},
              [&] { Complete(); });
}

TEST_F(OpCheckTest, NamesUnknownOutputs) {
  op_.outputs.emplace_back("Y", ArgVars{"i"});
  ExpectError(ErrorCode::kNotFound, "op.unknown_argument",
              {"output Y", "there are Out, Count, Extra"}, [&] { Complete(); });
}

TEST_F(OpCheckTest, NamesMissingArguments) {
  op_.inputs.pop_back();
  ExpectError(ErrorCode::kInvalidArgument, "op.argument_missing",
              {"test_many", "input Index is missing"}, [&] { Complete(); });
}

TEST_F(OpCheckTest, RefusesTwoVariablesForOneArgument) {
  op_.inputs[1].second = {"i", "j"};
  ExpectError(ErrorCode::kInvalidArgument, "op.argument_count",
              {"input Index takes one variable, got 2"}, [&] { Complete(); });
}

TEST_F(OpCheckTest, NamesUnknownAndMissingAttributes) {
  op_.attributes["ratios"] = 0.5;
  ExpectError(ErrorCode::kNotFound, "op.unknown_attribute",
              {"attribute ratios", "did you mean ratio?"}, [&] { Complete(); });
  op_.attributes.clear();
  ExpectError(ErrorCode::kInvalidArgument, "op.attribute_missing",
              {"attribute number (int) is missing"}, [&] { Complete(); });
}

TEST_F(OpCheckTest, RefusesAttributesOfAnotherType) {
  op_.attributes["number"] = std::string("three");
  ExpectError(ErrorCode::kInvalidArgument, "op.attribute_type",
              {"attribute number must be int, got string \"three\""},
              [&] { Complete(); });
}

TEST_F(OpCheckTest, TakesAnIntForAFloat) {
  op_.attributes["ratio"] = int64_t{1};
  Complete();
  EXPECT_EQ(std::get<double>(op_.attributes["ratio"]), 1.0);
}

TEST_F(OpCheckTest, SaysWhichIntegersNoFloatIs) {
  op_.attributes["ratio"] = (int64_t{1} << 53) + 1;
  ExpectError(ErrorCode::kInvalidArgument, "op.attribute_type",
              {"attribute ratio must be float, got int 9007199254740993, which "
               "no float is exactly"},
              [&] { Complete(); });
}

TEST_F(OpCheckTest, RefusesAttributesOutsideTheirLimits) {
  for (const double ratio :
       {-0.1, 1.1, std::numeric_limits<double>::quiet_NaN()}) {
    op_.attributes["ratio"] = ratio;
    ExpectError(ErrorCode::kInvalidArgument, "op.attribute_limit",
                {"attribute ratio must be at least 0 and at most 1"},
                [&] { Complete(); });
  }
}

TEST_F(OpCheckTest, HoldsTheLimitsForEveryElementOfAList) {
  op_.attributes["sizes"] = std::vector<int64_t>{1, -2};
  ExpectError(ErrorCode::kInvalidArgument, "op.attribute_limit",
              {"sizes", "[1, -2]"}, [&] { Complete(); });
  op_.attributes["sizes"] = std::vector<int64_t>{1, 2};
  op_.attributes["weights"] = std::vector<double>{1, -2};
  ExpectError(ErrorCode::kInvalidArgument, "op.attribute_limit", {"weights"},
              [&] { Complete(); });
}

TEST_F(OpCheckTest, RefusesWhatIsNoneOfTheChoices) {
  op_.attributes["mode"] = std::string("middle");
  ExpectError(ErrorCode::kInvalidArgument, "op.attribute_choice",
              {"mode", "[\"near\", \"far\"]", "\"middle\""},
              [&] { Complete(); });
}

TEST_F(OpCheckTest, BindsTypeVariables) {
  Complete();
  const BoundTypes types(schema(), op_,
                         {DType::kInt64, DType::kFloat64, DType::kFloat64});
  EXPECT_EQ(types.Of(*schema().FindOutput("Out")), DType::kFloat64);
  EXPECT_EQ(types.Of(*schema().FindOutput("Count")), DType::kInt64);
}

// Index, of type S, is the first input; T is the first type variable.
TEST_F(OpCheckTest, TheKernelsDTypeIsTheFirstTypeVariablesDType) {
  Complete();
  const BoundTypes types(schema(), op_,
                         {DType::kInt64, DType::kFloat64, DType::kFloat64});
  EXPECT_EQ(types.KernelDType(), DType::kFloat64);
}

TEST_F(OpCheckTest, RefusesDTypesThatAreNotAllowed) {
  Complete();
  ExpectError(ErrorCode::kInvalidArgument, "op.dtype",
              {"test_many", "Index", "int32, int64", "float32"}, [&] {
                BoundTypes(schema(), op_,
                           {DType::kFloat32, DType::kFloat32, DType::kFloat32});
              });
}

TEST_F(OpCheckTest, RefusesInputsOfOneTypeThatDiffer) {
  Complete();
  ExpectError(ErrorCode::kInvalidArgument, "op.dtype_mismatch",
              {"Xs", "float32", "float64"}, [&] {
                BoundTypes(schema(), op_,
                           {DType::kInt32, DType::kFloat32, DType::kFloat64});
              });
}

TEST_F(OpCheckTest, RefusesAnotherDTypeThanTheFixedOne) {
  op_.inputs.emplace_back("Flag", ArgVars{"f"});
  Complete();
  ExpectError(ErrorCode::kInvalidArgument, "op.fixed_dtype",
              {"Flag must be bool, got int8"}, [&] {
                BoundTypes(schema(), op_,
                           {DType::kInt32, DType::kFloat32, DType::kFloat32,
                            DType::kInt8});
              });
}

TEST_F(OpCheckTest, AMisspeltArgumentIsNamedBeforeTheOneThatIsMissing) {
  op_.inputs = {{"xs", {"a"}}, {"Index", {"i"}}};
  ExpectError(ErrorCode::kNotFound, "op.unknown_argument",
              {"test_many: there is no input xs", "Xs"}, [&] { Complete(); });
}

TEST_F(OpCheckTest, RefusesStringsThatAreNoUtf8) {
  op_.attributes["names"] = std::vector<std::string>{"a", "\xff"};
  ExpectError(ErrorCode::kInvalidArgument, "op.attribute_text",
              {"test_many: attribute names", "\\xff"}, [&] { Complete(); });
  op_.attributes.erase("names");
  op_.attributes["mode"] = std::string("far\xff");
  ExpectError(ErrorCode::kInvalidArgument, "op.attribute_text",
              {"test_many: attribute mode", "\"far\\xff\""},
              [&] { Complete(); });
}

TEST_F(OpCheckTest, CutsAndQuotesRefusedValues) {
  op_.attributes["mode"] = std::string(1000000, 'x');
  try {
    Complete();
    FAIL() << "a mode of a million letters was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.check_id(), "op.attribute_choice");
    EXPECT_LT(std::string(error.what()).size(), 500u);
  }
}

}  // namespace
}  // namespace sluice
