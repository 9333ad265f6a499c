#include "sluice/framework/program/prune.h"

#include "tests/framework/test_ops.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

namespace sluice {
namespace {

using sluice::testing::ExpectError;

class PruneTest : public ::testing::Test {
 protected:
  PruneTest() {
    sluice::testing::UseTestOps();
    program_.Data("x", DType::kFloat32, {-1, 4});
    program_.Data("y", DType::kFloat32, {3, 4});
    program_.Persistable("w", DType::kFloat32, {3, 4});
    Add("x", "w", "first");
    Add("first", "y", "second");
    Add("first", "w", "third");
  }

  void Add(const std::string& x, const std::string& y, const std::string& out) {
    program_.AppendOp("test_add", {{"X", {x}}, {"Y", {y}}}, {},
                      SourceLocation::Here(), {{"Out", {out}}});
  }

  Program program_;
};

TEST_F(PruneTest, KeepsWhatTheFetchesAreComputedFrom) {
  const Program pruned = Prune(program_, {"third"});
  ASSERT_EQ(pruned.block().ops.size(), 2u);
  EXPECT_EQ(pruned.block().ops[0].Output("Out")[0], "first");
  EXPECT_EQ(pruned.block().ops[1].Output("Out")[0], "third");
  EXPECT_EQ(pruned.block().FindVar("y"), nullptr);
  EXPECT_EQ(pruned.block().FindVar("second"), nullptr);
  EXPECT_EQ(pruned.FindVar("x").dims, DDim({-1, 4}));
  EXPECT_TRUE(pruned.FindVar("x").is_data);
  EXPECT_TRUE(pruned.FindVar("w").persistable);
  EXPECT_NE(pruned.uid(), program_.uid());
  EXPECT_EQ(program_.block().ops.size(), 3u);
}

TEST_F(PruneTest, KeepsLinesHintsAndWhereGradientsStop) {
  program_.SetHints("test_add: prefer place=cpu:0");
  program_.SetStopGradient("w", true);
  const Program pruned = Prune(program_, {"second"});
  EXPECT_EQ(pruned.hints(), program_.hints());
  EXPECT_TRUE(pruned.FindVar("w").stop_gradient);
  EXPECT_EQ(pruned.block().ops[0].location.line,
            program_.block().ops[0].location.line);
  EXPECT_EQ(pruned.LocationOfData("y").line, program_.LocationOfData("y").line);
}

TEST_F(PruneTest, ValuesThatAreReplacedLaterAreLeftOut) {
  Add("x", "y", "third");
  const Program pruned = Prune(program_, {"third"});
  ASSERT_EQ(pruned.block().ops.size(), 1u);
  EXPECT_EQ(pruned.block().ops[0].Input("Y")[0], "y");
}

TEST_F(PruneTest, AFetchThatNoOpMakesNeedsNone) {
  const Program pruned = Prune(program_, {"x", "w"});
  EXPECT_TRUE(pruned.block().ops.empty());
  EXPECT_EQ(pruned.block().vars().size(), 2u);
}

TEST_F(PruneTest, AnUnknownFetchIsAnError) {
  ExpectError(ErrorCode::kNotFound, "program.unknown_var", {"thrid", "third"},
              [&] { Prune(program_, {"thrid"}); });
}

}  // namespace
}  // namespace sluice
