// Errors of AppendBackward, and variables that have several values.
#include "tests/framework/program/backward_fixture.h"
#include <gtest/gtest.h>

#include "sluice/framework/program/backward.h"

namespace sluice::testing {
namespace {

// --- variables that are written again
TEST_F(BackwardTest, AnOpInPlaceThatReadsItsOutput) {
  Op("test_square", {"w"}, {"h"});
  Op("test_keep", {"h"}, {"h"});
  Op("test_total", {"h"}, {"loss"});
  const Lines lines = Backward("loss");
  EXPECT_EQ(Lines(lines.begin() + 1, lines.end()),
            (Lines{"h@GRAD = test_total_grad(h, loss@GRAD)",
                   "h@GRAD@1 = test_keep_grad(h, h@GRAD)",
                   "w@GRAD = test_square_grad(w, h@GRAD@1)"}));
}

TEST_F(BackwardTest, RefusesToReadWhatWasOverwritten) {
  Op("test_square", {"w"}, {"h"});
  Op("test_square", {"h"}, {"h"});
  Op("test_total", {"h"}, {"loss"});
  ExpectRefused(
      ErrorCode::kInvalidArgument, "backward.overwritten",
      {"gradient of op 1 (test_square)", "variable h", "op 1 (test_square)"},
      "loss");
}

TEST_F(BackwardTest, AShapeMayBeReadFromAnUpdatedParameter) {
  Op("test_total", {"w"}, {"loss"});
  Op("test_update", {"w", "x"}, {"w"});
  EXPECT_EQ(Backward("loss").back(), "w@GRAD = test_total_grad(w, loss@GRAD)");
}

TEST_F(BackwardTest, RefusesToReadAnUpdatedParameter) {
  Op("test_square", {"w"}, {"h"});
  Op("test_total", {"h"}, {"loss"});
  Op("test_update", {"w", "x"}, {"w"});
  ExpectRefused(ErrorCode::kInvalidArgument, "backward.overwritten",
                {"op 0 (test_square)", "w", "op 2 (test_update)"}, "loss");
}

TEST_F(BackwardTest, NoGradientFlowsIntoAnUpdate) {
  Op("test_update", {"w", "v"}, {"w"});
  Op("test_square", {"w"}, {"h"});
  Op("test_total", {"h"}, {"loss"});
  EXPECT_EQ(Backward("loss").back(), "w@GRAD = test_square_grad(w, h@GRAD)");
  EXPECT_EQ(grads_, Lines{"w: w@GRAD"});
}

TEST_F(BackwardTest, RefusesTwoValuesOfAParameter) {
  Op("test_square", {"w"}, {"h"});
  Op("test_update", {"w", "x"}, {"w"});
  Op("test_product", {"h", "w"}, {"p"});
  Op("test_total", {"p"}, {"loss"});
  ExpectRefused(ErrorCode::kInvalidArgument, "backward.parameter_rewritten",
                {"two values of w", "op 1 (test_update, created at net.cc:7)"},
                "loss");
}

// --- several losses
TEST_F(BackwardTest, ASecondLossGetsGradientsOfItsOwn) {
  Op("test_keep", {"w"}, {"h"});
  Op("test_total", {"h"}, {"loss"});
  Op("test_total", {"h"}, {"other"});
  Backward("loss");
  const Lines lines = Backward("other");
  EXPECT_EQ(lines, (Lines{"other@GRAD = fill_constant()",
                          "h@GRAD@1 = test_total_grad(h, other@GRAD)",
                          "w@GRAD@1 = test_keep_grad(h, h@GRAD@1)"}));
  EXPECT_EQ(grads_, Lines{"w: w@GRAD@1"});
}

TEST_F(BackwardTest, ALossWithinALossIsAnother) {
  Op("test_total", {"w"}, {"inner"});
  Op("test_square", {"inner"}, {"loss"});
  Backward("loss");
  EXPECT_EQ(Backward("inner").front(), "inner@GRAD@1 = fill_constant()");
  ExpectRefused(ErrorCode::kInvalidArgument, "backward.twice", {"inner"},
                "inner");
}

TEST_F(BackwardTest, RefusesTheSameLossTwice) {
  Op("test_total", {"w"}, {"loss"});
  Backward("loss");
  ExpectRefused(ErrorCode::kInvalidArgument, "backward.twice",
                {"loss", "me.cc:5"}, "loss");
}

TEST_F(BackwardTest, RefusesALossOfGradients) {
  Op("test_square", {"w"}, {"h"});
  Op("test_total", {"h"}, {"loss"});
  Backward("loss");
  Op("test_total", {"w@GRAD"}, {"norm"});
  ExpectRefused(ErrorCode::kInvalidArgument, "backward.no_gradient",
                {"test_square_grad", "variable w"}, "norm");
}

// --- invalid losses, parameters and paths
TEST_F(BackwardTest, RefusesWhatIsNoLoss) {
  Op("test_square", {"w"}, {"h"});
  program_.Data("label", DType::kInt64, {1});
  program_.Data("any", DType::kFloat32, {-1});
  ExpectRefused(ErrorCode::kNotFound, "program.unknown_var",
                {"no variable lost", "me.cc:5"}, "lost");
  ExpectRefused(ErrorCode::kInvalidArgument, "backward.loss_dtype",
                {"label", "int64"}, "label");
  ExpectRefused(ErrorCode::kInvalidArgument, "backward.loss_shape",
                {"h", "[3]", "me.cc:5"}, "h");
  ExpectRefused(ErrorCode::kInvalidArgument, "backward.loss_shape",
                {"any", "[?]"}, "any");
}

TEST_F(BackwardTest, RefusesWhatIsNoParameter) {
  program_.Data("label", DType::kInt64, {1});
  Op("test_total", {"w"}, {"loss"});
  ExpectRefused(ErrorCode::kNotFound, "program.unknown_var", {"no variable ww"},
                "loss", {.parameters = {"ww"}});
  ExpectRefused(ErrorCode::kNotFound, "program.unknown_var", {"no variable ww"},
                "loss", {.no_gradient = {"ww"}});
  ExpectRefused(ErrorCode::kInvalidArgument, "backward.parameter_dtype",
                {"label", "int64"}, "loss", {.parameters = {"label"}});
  ExpectRefused(ErrorCode::kInvalidArgument, "backward.parameter_stops",
                {"x", "data"}, "loss", {.parameters = {"x"}});
  ExpectRefused(ErrorCode::kInvalidArgument, "backward.parameter_stops", {"w"},
                "loss", {.parameters = {"w"}, .no_gradient = {"w"}});
}

TEST_F(BackwardTest, PassesOperandsToGradientOps) {
  program_.Data("k", DType::kInt64, {1});
  Op("test_power", {"w", "k"}, {"h"});
  Op("test_total", {"h"}, {"loss"});
  EXPECT_EQ(Backward("loss").back(), "w@GRAD = test_power_grad(w, h@GRAD, k)");
}

TEST_F(BackwardTest, AGradientOpWithoutTheOperandNeedsTheAttribute) {
  program_.Data("k", DType::kInt64, {1});
  Op("test_root", {"w", "k"}, {"h"});
  Op("test_total", {"h"}, {"loss"});
  ExpectRefused(ErrorCode::kUnimplemented, "backward.operand",
                {"test_root", "input K gives attribute k", "test_root_grad"},
                "loss");
}

TEST_F(BackwardTest, SaysWhyAnOpHasNoGradient) {
  Op("unique", {"w"}, {"h"});
  Op("test_total", {"h"}, {"loss"});
  ExpectRefused(
      ErrorCode::kInvalidArgument, "backward.no_gradient",
      {"(unique, created at net.cc:7), which has no gradient: how many "
       "elements Out has changes with the values of X; set stop_gradient"},
      "loss");
}

TEST_F(BackwardTest, NamesTheOpThatHasNoGradient) {
  Op("test_square", {"w"}, {"h"});
  Op("test_divide", {"h"}, {"d"});
  Op("test_total", {"d"}, {"loss"});
  ExpectRefused(ErrorCode::kInvalidArgument, "backward.no_gradient",
                {"path with no gradient", "variable h",
                 "op 1 (test_divide, created at net.cc:7)", "me.cc:5"},
                "loss");
}

TEST_F(BackwardTest, ALossOfNothingHasNoPath) {
  Op("test_total", {"x"}, {"loss"});
  ExpectRefused(ErrorCode::kInvalidArgument, "backward.no_path",
                {"loss", "w, v", "does not depend"}, "loss");
  ExpectRefused(ErrorCode::kInvalidArgument, "backward.no_path",
                {"no parameter gets a gradient"}, "loss",
                {.no_gradient = {"w", "v"}});
  for (int i = 0; i < 9; ++i) {
    program_.Persistable(Format("u{}", i), DType::kFloat32, {3});
  }
  ExpectRefused(ErrorCode::kInvalidArgument, "backward.no_path",
                {"w, v, u0, u1, u2, ... get no gradient of loss loss: "},
                "loss");
}

TEST_F(BackwardTest, EveryParameterThatIsNamedNeedsAPath) {
  Op("test_total", {"w"}, {"loss"});
  ExpectRefused(ErrorCode::kInvalidArgument, "backward.no_path",
                {"v gets no gradient", "does not depend"}, "loss",
                {.parameters = {"w", "v"}});
}

TEST_F(BackwardTest, NamesWhereGradientsStop) {
  Op("test_square", {"w"}, {"h"});
  Op("test_total", {"h"}, {"loss"});
  program_.SetStopGradient("h", true);
  ExpectRefused(
      ErrorCode::kInvalidArgument, "backward.no_path",
      {"op 0 (test_square, created at net.cc:7) makes h", "gradients stop"},
      "loss");
}

TEST_F(BackwardTest, NamesTheOpThatMakesIntegers) {
  const auto top = program_.AppendOp("top_k", {{"X", {"w"}}},
                                     {{"k", int64_t{1}}}, {"net.cc", 9});
  const std::string indices = top.Output("Indices")[0];
  program_.AppendOp("cast", {{"X", {indices}}}, {{"dtype", DType::kFloat32}},
                    {}, {{"Out", {"f"}}});
  Op("test_total", {"f"}, {"loss"});
  ExpectRefused(ErrorCode::kInvalidArgument, "backward.no_path",
                {"op 0 (top_k, created at net.cc:9)", indices, "int64"},
                "loss");
}

TEST_F(BackwardTest, NamesGradientsThatGiveNothing) {
  Op("test_stuck", {"w"}, {"h"});
  Op("test_total", {"h"}, {"loss"});
  ExpectRefused(ErrorCode::kInvalidArgument, "backward.no_path",
                {"of other inputs only"}, "loss");
}

}  // namespace
}  // namespace sluice::testing
