#include "sluice/laboratory/compare.h"

#include <limits>

#include "tests/framework/test_ops.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/lines_of.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using sluice::testing::Append;
using sluice::testing::ExpectError;
using sluice::testing::Floats;
using sluice::testing::LinesOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

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
  EXPECT_EQ(comparison.ops[1].kernel_a, "plain");
  EXPECT_EQ(comparison.ops[1].kernel_b, "wrong");
  EXPECT_THAT(ToString(comparison),
              HasSubstr("2 of 3 ops DIFFER; the first is #1 test_add: plain "
                        "under A, wrong under B\n  B is wrong: "));
}

// A comparison as from measuring, without noise: 3 ops with the same kernels,
// 20 with others, and 4 alike that a pass inserted.
Comparison Measured(double seconds_a, double seconds_b) {
  const auto run = [](double seconds) {
    Timing timing;
    timing.median = seconds;
    timing.low = 0.99 * seconds;
    timing.high = 1.01 * seconds;
    timing.rounds = 148;
    return timing;
  };
  Comparison comparison;
  comparison.hints_a = "exclude library=ONEDNN";
  comparison.run_a = run(seconds_a);
  comparison.run_b = run(seconds_b);
  const double ratio = seconds_b / seconds_a;
  comparison.b_over_a = {0.99 * ratio, 1.01 * ratio};
  for (int i = 0; i < 27; ++i) {
    OpComparison op;
    op.op_index = i;
    op.op = i < 23 ? "softmax_with_cross_entropy_grad" : "transpose";
    op.kernel_a = i < 23 ? "plain" : "-";
    op.kernel_b = i < 3 ? "plain" : "onednn/reorder";
    op.same = i < 3;
    op.inserted = i >= 23;
    op.seconds_a = i < 23 ? 1e-5 * i : 0;
    op.seconds_b = 2e-5 * i;
    op.max_absolute_error = i == 5 ? 1e-6 : 0;
    comparison.ops.push_back(op);
  }
  return comparison;
}

TEST(ComparisonText, SaysWhatAAndBAreAndTheTotalFirst) {
  EXPECT_THAT(
      ToString(Measured(2.6e-3, 6.9e-3)),
      StartsWith("A: exclude library=ONEDNN  run 2.60 ms (2.57 to 2.63 ms, "
                 "148 runs)  ops 2.53 ms\n"
                 "B: no hints                run 6.90 ms (6.83 to 6.97 ms, "
                 "148 runs)  ops 7.02 ms\n"
                 "B is 2.63 to 2.68 times as long\n"
                 "all results within bound\n"
                 "24 of 27 ops have another kernel or layout\n"));
  Comparison named;
  named.hints_a = "reference";
  named.hints_b = "default";
  EXPECT_THAT(ToString(named),
              StartsWith("A: reference kernels\nB: no hints\n"));
}

TEST(ComparisonText, HasTheLargestChangesFirstAndCountsTheRest) {
  const std::string text = ToString(Measured(2.6e-3, 6.9e-3));
  // Four inserted ops share a row, and come first.
  EXPECT_LT(text.find("\n+23  transpose x4 "), text.find("\n 22  softmax"));
  EXPECT_LT(text.find("\n 22  softmax"), text.find("\n 21  softmax"));
  EXPECT_THAT(text, HasSubstr("220   440   +220\n"));
  EXPECT_THAT(text, HasSubstr("... 9 more with other kernels, 630 us "
                              "together; 3 ops the same: ToString(result"));
  EXPECT_THAT(text, Not(HasSubstr("\n  0  ")));
  const std::string all = ToString(Measured(2.6e-3, 6.9e-3), true);
  EXPECT_THAT(all, HasSubstr("\n  0  "));
  EXPECT_THAT(all, HasSubstr("within bound\n"));
  EXPECT_THAT(all, Not(HasSubstr("...")));
}

TEST(ComparisonText, ShowsWhatDiffersWhereverItIs) {
  Comparison comparison = Measured(2.6e-3, 6.9e-3);
  comparison.first_difference = 3;
  comparison.ops[3].differs = true;
  comparison.ops[3].message = std::string(200, 'x');
  const std::string text = ToString(comparison);
  EXPECT_THAT(text, HasSubstr("1 of 27 ops DIFFERS; the first is #3 softmax"));
  EXPECT_THAT(text, HasSubstr("  DIFFERS\n"));
}

TEST(ComparisonText, SaysWhenTheMachineWasBusy) {
  Comparison comparison = Measured(2.6e-3, 6.9e-3);
  EXPECT_THAT(ToString(comparison), Not(HasSubstr("busy")));
  comparison.run_b.high = 9e-3;
  EXPECT_THAT(ToString(comparison),
              HasSubstr("as long; the machine was busy\n"));
  comparison.b_over_a = {0, std::numeric_limits<double>::infinity()};
  EXPECT_THAT(ToString(comparison),
              HasSubstr("too few turns to tell a difference; "));
}

TEST(ComparisonText, ListsNoTimesThatContradictTheRun) {
  const std::string why =
      "A: the ops are not listed: in the same turns they add up to 2.53 ms, "
      "and a run\n  takes 1.00 ms, 2.53 times apart; ";
  Comparison comparison = Measured(1e-3, 6.9e-3);
  EXPECT_THAT(ToString(comparison), HasSubstr(why));
  EXPECT_THAT(ToString(comparison), Not(HasSubstr("softmax")));
  EXPECT_THAT(ToString(Measured(2.6e-3, 12e-3)), HasSubstr("B: the ops are"));
  // What differs is listed all the same, without times.
  comparison.first_difference = 3;
  comparison.ops[3].differs = true;
  EXPECT_THAT(ToString(comparison), HasSubstr(why));
  EXPECT_THAT(ToString(comparison), HasSubstr("  DIFFERS\n"));
  EXPECT_THAT(ToString(comparison), Not(HasSubstr("B - A")));
}

TEST(ComparisonText, HasNoIntervalsOfFewTurns) {
  Comparison comparison = Measured(2.6e-3, 6.9e-3);
  comparison.run_b.rounds = 9;
  const std::string text = ToString(comparison);
  EXPECT_THAT(text, HasSubstr("run 6.90 ms (9 runs only) "));
  EXPECT_THAT(text, HasSubstr("B is 2.65 times as long\n"));
}

TEST(ComparisonText, IsNarrow) {
  Comparison comparison = Measured(2.6e-3, 6.9e-3);
  comparison.hints_a = std::string(300, 'h');
  comparison.first_difference = 3;
  comparison.ops[3].differs = true;
  comparison.ops[3].message = std::string(200, 'x') + " y";
  for (const bool all : {false, true}) {
    for (const std::string& line : LinesOf(ToString(comparison, all))) {
      // Names of kernels are not cut, so rows of long ops are wider.
      EXPECT_LE(line.size(), line.find("softmax") < 5 ? 100u : 80u) << line;
    }
  }
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
  EXPECT_THAT(ToString(comparison), HasSubstr("all results equal\n"));
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
              {"parameter w", "is not initialised"},
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
