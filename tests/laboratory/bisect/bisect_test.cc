#include "sluice/laboratory/bisect/bisect.h"

#include <vector>

#include "tests/framework/test_ops.h"
#include "tests/testing/expect_error.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/platform/error.h"

namespace sluice {
namespace {

using sluice::testing::Append;
using sluice::testing::ExpectError;
using sluice::testing::Floats;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// A chain of test_add.
class BisectTest : public ::testing::Test {
 protected:
  BisectTest() {
    sluice::testing::UseTestOps();
    program_.Data("x", DType::kFloat32, {3});
    end_ = "x";
  }

  void AddOps(int ops) {
    for (int i = 0; i < ops; ++i) {
      end_ = Append(&program_, "test_add", {{"X", {end_}}, {"Y", {"x"}}});
    }
  }
  static std::string Wrong(const std::vector<int>& ops) {
    std::string hints;
    for (const int op : ops) {
      hints += Format("#{}: require variant=wrong;", op);
    }
    return hints;
  }
  BisectResult Run(std::string_view a,
                   std::string_view b,
                   const BisectOptions& options = {}) {
    return Bisect(program_, feeds_, {end_}, a, b, options);
  }

  Program program_;
  std::string end_;
  const Feeds feeds_ = {{"x", Floats({3}, {1, 2, 4})}};
};

TEST_F(BisectTest, FindsTheOneWrongKernelOf200) {
  AddOps(200);
  for (const int guilty : {0, 57, 199}) {
    const BisectResult result = Run("", Wrong({guilty}));
    ASSERT_THAT(result.findings, SizeIs(1));
    const BisectFinding& finding = result.findings[0];
    EXPECT_EQ(finding.ops, Format("{} test_add", guilty));
    EXPECT_EQ(finding.kernels_a, "plain");
    EXPECT_EQ(finding.kernels_b, "wrong");
    EXPECT_FALSE(finding.together);
    EXPECT_NEAR(finding.difference.absolute, 1, 1e-4);
    EXPECT_THAT(finding.message, HasSubstr("[1] is "));
    EXPECT_THAT(finding.message, HasSubstr("B is wrong: Out[1] is "));
    EXPECT_EQ(result.suspects, 1);
    EXPECT_LE(result.runs, 9);
  }
}

TEST_F(BisectTest, FindsSeveralAmongManyOthers) {
  AddOps(100);
  const std::vector<int> guilty = {3, 4, 50, 98};
  const BisectResult result = Run(Wrong({7}), Wrong(guilty));
  std::vector<std::string> found;
  for (const BisectFinding& finding : result.findings) {
    found.push_back(finding.ops);
  }
  EXPECT_THAT(found,
              ::testing::ElementsAre("3 test_add", "4 test_add", "7 test_add",
                                     "50 test_add", "98 test_add"));
  EXPECT_THAT(result.findings[2].message, HasSubstr("A is wrong: Out[1] is "));
  EXPECT_EQ(result.ops, 100);
  EXPECT_EQ(result.suspects, 5);
}

TEST_F(BisectTest, SaysThatNothingDiffers) {
  AddOps(3);
  const BisectResult result = Run("", "require variant=plain");
  EXPECT_THAT(result.findings, SizeIs(0));
  EXPECT_EQ(result.runs, 1);
  EXPECT_THAT(ToString(result), HasSubstr("no part differs beyond rounding"));
}

TEST_F(BisectTest, KeepsToATolerance) {
  AddOps(5);
  EXPECT_THAT(Run("", Wrong({2}), {.absolute_tolerance = 1.5}).findings,
              SizeIs(0));
  EXPECT_THAT(Run("", Wrong({2}), {.absolute_tolerance = 0.5}).findings,
              SizeIs(1));
  EXPECT_THAT(Run("", Wrong({2}), {.relative_tolerance = 0.5}).findings,
              SizeIs(0));
}

TEST_F(BisectTest, TakesTheTurnsThatAreNeededWithinItsBudget) {
  AddOps(1);
  const BisectResult result =
      Run("", Wrong({0}), {.what = BisectFor::kTime, .race_seconds = 1e-9});
  EXPECT_GE(result.time_a.rounds, 5);
  ExpectError(ErrorCode::kInvalidArgument, "bisect.budget",
              {"a budget of 1e-09 seconds", "times, of 5"}, [&] {
                Run("", Wrong({0}),
                    {.what = BisectFor::kTime, .budget_seconds = 1e-9});
              });
}

TEST_F(BisectTest, SaysThatAKernelRaisedWhileItWasTimed) {
  end_ = Append(&program_, "test_fail", {{"X", {end_}}});
  AddOps(1);
  const sluice::testing::FailTestOps fail(20);
  ExpectError(ErrorCode::kInternal, "bisect.raised",
              {"while it was timed", "told to"},
              [&] { Run("", Wrong({1}), {.what = BisectFor::kTime}); });
}

TEST_F(BisectTest, GivesPartsThatShowTheDifference) {
  AddOps(20);
  const BisectResult result = Run("", Wrong({11}));
  ASSERT_THAT(result.findings, SizeIs(1));
  std::vector<std::vector<float>> results;
  for (const ProgramPart* part :
       {&result.findings[0].a, &result.findings[0].b}) {
    EXPECT_THAT(part->program.block().ops, SizeIs(1));
    Executor executor;
    const Fetches fetches(part->fetches.begin(), part->fetches.end());
    results.push_back(
        executor.Run(part->program, part->feeds, fetches)[0].ToVector<float>());
  }
  EXPECT_EQ(results[0], (std::vector<float>{13, 26, 52}));
  EXPECT_EQ(results[1], (std::vector<float>{13, 27, 52}));
}

TEST_F(BisectTest, ReadsPersistablesAndDoesNotWriteThem) {
  program_.Persistable("w", DType::kFloat32, {3});
  AddOps(2);
  for (int i = 0; i < 2; ++i) {
    program_.AppendOp("test_update", {{"Param", {"w"}}, {"Delta", {end_}}}, {},
                      {}, {{"ParamOut", {"w"}}});
  }
  end_ = Append(&program_, "test_add", {{"X", {"w"}}, {"Y", {"w"}}});
  Scope scope;
  *scope.Var("w").GetMutable<Tensor>() = Floats({3}, {1, 1, 1});
  const BisectResult result =
      Bisect(program_, feeds_, {end_}, "", Wrong({1, 4}), {}, &scope);
  ASSERT_THAT(result.findings, SizeIs(2));
  EXPECT_EQ(result.findings[0].ops, "1 test_add");
  EXPECT_EQ(result.findings[1].ops, "4 test_add");
  // 1 + 2 * 3 x, added to itself
  EXPECT_THAT(result.findings[1].message, HasSubstr("[1] is 26 under A"));
  EXPECT_EQ(scope.FindVar("w")->Get<Tensor>()->ToVector<float>(),
            (std::vector<float>{1, 1, 1}));
}

}  // namespace
}  // namespace sluice
