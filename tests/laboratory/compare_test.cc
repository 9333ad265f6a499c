#include "sluice/laboratory/compare.h"

#include <limits>

#include "tests/framework/test_ops.h"
#include "tests/testing/expect_error.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using sluice::testing::Append;
using sluice::testing::ExpectError;
using sluice::testing::Floats;
using ::testing::HasSubstr;

class CompareTest : public ::testing::Test {
 protected:
  CompareTest() {
    sluice::testing::UseTestOps();
    program_.Data("x", DType::kFloat32, {3});
    inverse_ = Append(&program_, "test_divide", {{"X", {"x"}}});
    sum_ = Append(&program_, "test_add", {{"X", {inverse_}}, {"Y", {"x"}}});
    end_ = Append(&program_, "test_add", {{"X", {sum_}}, {"Y", {sum_}}});
  }

  Program program_;
  std::string inverse_, sum_, end_;
  const Feeds feeds_ = {{"x", Floats({3}, {1, 2, 4})}};
};

TEST_F(CompareTest, NamesTheFirstOpThatDiffers) {
  const Comparison comparison =
      Compare(program_, feeds_, "", "test_add: require variant=wrong");
  ASSERT_EQ(comparison.ops.size(), 3u);
  EXPECT_EQ(comparison.first_difference, 1);
  EXPECT_FALSE(comparison.ops[0].differs);
  EXPECT_TRUE(comparison.ops[1].differs);
  EXPECT_EQ(comparison.ops[1].kernel_a, "PLAIN plain at cpu");
  EXPECT_EQ(comparison.ops[1].kernel_b, "PLAIN wrong at cpu");
  EXPECT_THAT(ToString(comparison),
              HasSubstr("the first op that differs is 1 (test_add): PLAIN "
                        "plain at cpu against PLAIN wrong at cpu"));
}

TEST_F(CompareTest, ErrorsDoNotAddUp) {
  const Comparison comparison =
      Compare(program_, feeds_, "", "test_add: require variant=wrong");
  // 2.5 versus 3.5; then 5 versus 6, although the wrong 3.5 would lead to 8.
  EXPECT_NEAR(comparison.ops[1].max_absolute_error, 1, 1e-6);
  EXPECT_NEAR(comparison.ops[1].max_relative_error, 1 / 3.5, 1e-6);
  EXPECT_NEAR(comparison.ops[2].max_absolute_error, 1, 1e-6);
  EXPECT_NEAR(comparison.ops[2].max_relative_error, 1 / 6.0, 1e-6);
}

TEST_F(CompareTest, SaysWhenNothingDiffers) {
  const Comparison comparison = Compare(program_, feeds_, "", "");
  EXPECT_EQ(comparison.first_difference, -1);
  EXPECT_THAT(ToString(comparison), HasSubstr("no op differs"));
  for (const OpComparison& op : comparison.ops) {
    EXPECT_GT(op.seconds_a, 0);
    EXPECT_GT(op.seconds_b, 0);
    EXPECT_EQ(op.max_absolute_error, 0);
  }
}

TEST_F(CompareTest, TakesKernelSetsByName) {
  const Comparison same = Compare(program_, feeds_, "default", "");
  for (const OpComparison& op : same.ops) {
    EXPECT_EQ(op.kernel_a, op.kernel_b);
  }
  EXPECT_EQ(Compare(program_, feeds_, "reference", "default").first_difference,
            -1);
  EXPECT_EQ(HintsOfSet("default"), "");
  EXPECT_THAT(std::string(HintsOfSet("reference")), HasSubstr("library=PLAIN"));
  EXPECT_EQ(HintsOfSet("relu: require variant=plain"),
            "relu: require variant=plain");
}

TEST_F(CompareTest, KeepsToItsTolerance) {
  CompareOptions options;
  options.absolute_tolerance = 1.5;
  EXPECT_EQ(Compare(program_, feeds_, "", "require variant=plain", options)
                .first_difference,
            -1);
  EXPECT_EQ(
      Compare(program_, feeds_, "", "test_add: prefer variant=wrong", options)
          .first_difference,
      -1);
  options.absolute_tolerance = 0.5;
  EXPECT_EQ(
      Compare(program_, feeds_, "", "test_add: prefer variant=wrong", options)
          .first_difference,
      1);
}

TEST_F(CompareTest, NanEqualsNanAndInfinityEqualsInfinity) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(Compare(program_, {{"x", Floats({3}, {0, nan, 1})}}, "", "")
                .first_difference,
            -1);
}

TEST_F(CompareTest, ComparesPlaces) {
  program_.AppendOp("reshape", {{"X", {end_}}},
                    {{"shape", std::vector<int64_t>{3, 1}}});
  const std::string column = program_.Output("Out").name();
  Append(&program_, "manhattan_distance", {{"X", {column}}, {"Y", {column}}});
  const Comparison comparison =
      Compare(program_, feeds_, "", "manhattan_distance: require place=fpga:0");
  EXPECT_EQ(comparison.first_difference, -1);
  EXPECT_THAT(comparison.ops.back().kernel_b, HasSubstr("at fpga:0"));
}

TEST_F(CompareTest, ReadsPersistablesAndDoesNotWriteThem) {
  program_.Persistable("w", DType::kFloat32, {3});
  program_.AppendOp("test_update", {{"Param", {"w"}}, {"Delta", {"x"}}}, {}, {},
                    {{"ParamOut", {"w"}}});
  program_.AppendOp("test_update", {{"Param", {"w"}}, {"Delta", {"x"}}}, {}, {},
                    {{"ParamOut", {"w"}}});
  ExpectError(ErrorCode::kFailedPrecondition, "run.uninitialised",
              {"persistable variable w", "no value"},
              [&] { Compare(program_, feeds_, "", ""); });
  Scope scope;
  *scope.Var("w").GetMutable<Tensor>() = Floats({3}, {1, 1, 1});
  const Comparison comparison =
      Compare(program_, feeds_, "", "", CompareOptions(), &scope);
  EXPECT_EQ(comparison.ops.size(), 5u);
  EXPECT_EQ(comparison.first_difference, -1);
  EXPECT_EQ(scope.FindVar("w")->Get<Tensor>()->ToVector<float>(),
            (std::vector<float>{1, 1, 1}));
}

}  // namespace
}  // namespace sluice
