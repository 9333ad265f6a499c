#include "sluice/framework/program/backward.h"

#include "tests/framework/program/backward_fixture.h"
#include "tests/testing/allocation_sweep.h"
#include <gtest/gtest.h>

namespace sluice::testing {
namespace {

TEST_F(BackwardTest, GoesFromTheLossToTheParameter) {
  Op("test_product", {"x", "w"}, {"h"});
  Op("test_square", {"h"}, {"s"});
  Op("test_total", {"s"}, {"loss"});
  EXPECT_EQ(Backward("loss"),
            (Lines{"loss@GRAD = fill_constant()",
                   "s@GRAD = test_total_grad(s, loss@GRAD)",
                   "h@GRAD = test_square_grad(h, s@GRAD)",
                   "w@GRAD = test_product_grad(x, w, h@GRAD)"}));
  EXPECT_EQ(grads_, Lines{"w: w@GRAD"});
  EXPECT_EQ(program_.FindVar("w@GRAD").dims, DDim({3}));
}

TEST_F(BackwardTest, FillsTheGradientOfTheLossWithOne) {
  program_.Persistable("d", DType::kFloat64, {3});
  Op("test_total", {"d"}, {"loss"});
  Backward("loss");
  const OpDesc& fill = program_.block().ops[1];
  EXPECT_EQ(std::get<double>(fill.attributes.at("value")), 1.0);
  EXPECT_EQ(program_.FindVar("loss@GRAD").dims, DDim({1}));
  EXPECT_EQ(program_.FindVar("loss@GRAD").dtype, DType::kFloat64);
}

TEST_F(BackwardTest, TakesAVarAndAScalarParameter) {
  const Var w = program_.Persistable("scalar", DType::kFloat32, {});
  EXPECT_EQ(AppendBackward(w)[0].grad, "scalar@GRAD");
}

TEST_F(BackwardTest, KeepsLocationsAndThePurposeOfTheProgram) {
  Op("test_product", {"w", "w"}, {"h"});
  Op("test_total", {"h"}, {"loss"});
  AppendBackward(program_, "loss", {}, {"train.cc", 12});
  const std::vector<OpDesc>& ops = program_.block().ops;
  ASSERT_EQ(ops.size(), 6u);
  EXPECT_EQ(ops[2].location.file, "train.cc");
  for (size_t i = 3; i < ops.size(); ++i) {
    EXPECT_EQ(ops[i].location.file, "net.cc") << i;
  }
  EXPECT_EQ(program_.purpose(), OpPurpose::kForward);
  EXPECT_EQ(program_.CloneForTest().block().ops.size(), 2u);
}

TEST_F(BackwardTest, AddsUpWhatOneOpContributesTwice) {
  Op("test_product", {"w", "w"}, {"h"});
  Op("test_total", {"h"}, {"loss"});
  const Lines lines = Backward("loss");
  EXPECT_EQ(Lines(lines.begin() + 2, lines.end()),
            (Lines{"w@GRAD@RENAME@0, w@GRAD@RENAME@1 = test_product_grad(w, w, "
                   "h@GRAD)",
                   "w@GRAD = sum(w@GRAD@RENAME@0, w@GRAD@RENAME@1)"}));
}

TEST_F(BackwardTest, AddsUpWhatSeveralOpsContribute) {
  Op("test_square", {"w"}, {"h"});  // a diamond, and w once more
  Op("test_square", {"h"}, {"a"});
  Op("test_keep", {"h"}, {"b"});
  Op("test_product", {"a", "b"}, {"c"});
  Op("test_product", {"c", "w"}, {"d"});
  Op("test_total", {"d"}, {"loss"});
  const Lines lines = Backward("loss");
  EXPECT_EQ(Lines(lines.begin() + 2, lines.end()),
            (Lines{"c@GRAD, w@GRAD@RENAME@0 = test_product_grad(c, w, d@GRAD)",
                   "a@GRAD, b@GRAD = test_product_grad(a, b, c@GRAD)",
                   "h@GRAD@RENAME@0 = test_keep_grad(b, b@GRAD)",
                   "h@GRAD@RENAME@1 = test_square_grad(h, a@GRAD)",
                   "h@GRAD = sum(h@GRAD@RENAME@0, h@GRAD@RENAME@1)",
                   "w@GRAD@RENAME@1 = test_square_grad(w, h@GRAD)",
                   "w@GRAD = sum(w@GRAD@RENAME@0, w@GRAD@RENAME@1)"}));
}

TEST_F(BackwardTest, WholeGradientsGoThroughTheOpsOfTheCaller) {
  Op("test_square", {"w"}, {"h"});
  Op("test_square", {"h"}, {"a"});
  Op("test_keep", {"h"}, {"b"});
  Op("test_product", {"a", "b"}, {"c"});
  Op("test_total", {"c"}, {"loss"});
  OpDesc divide;
  divide.type = "test_divide";
  EXPECT_EQ(Backward("loss", {.gradient_ops = {{"c", divide}, {"h", divide}}}),
            (Lines{"loss@GRAD = fill_constant()",
                   "c@GRAD@WHOLE = test_total_grad(c, loss@GRAD)",
                   "c@GRAD = test_divide(c@GRAD@WHOLE)",
                   "a@GRAD, b@GRAD = test_product_grad(a, b, c@GRAD)",
                   "h@GRAD@RENAME@0 = test_keep_grad(b, b@GRAD)",
                   "h@GRAD@RENAME@1 = test_square_grad(h, a@GRAD)",
                   "h@GRAD@WHOLE = sum(h@GRAD@RENAME@0, h@GRAD@RENAME@1)",
                   "h@GRAD = test_divide(h@GRAD@WHOLE)",
                   "w@GRAD = test_square_grad(w, h@GRAD)"}));
}

TEST_F(BackwardTest, RefusesAnOpForGradientsOfNoVariable) {
  Op("test_total", {"w"}, {"loss"});
  OpDesc divide;
  divide.type = "test_divide";
  ExpectRefused(ErrorCode::kNotFound, "program.unknown_var", {"zz"}, "loss",
                {.gradient_ops = {{"zz", divide}}});
}

TEST_F(BackwardTest, WhatNeedsNoGradientGetsNoOp) {
  Op("test_square", {"x"}, {"of_data"});
  Op("test_product", {"of_data", "w"}, {"h"});
  Op("test_square", {"h"}, {"unused"});
  Op("test_divide", {"h"}, {"unused_without_gradient"});
  Op("test_total", {"h"}, {"loss"});
  Op("test_product", {"loss", "v"}, {"behind"});
  EXPECT_EQ(Backward("loss"),
            (Lines{"loss@GRAD = fill_constant()",
                   "h@GRAD = test_total_grad(h, loss@GRAD)",
                   "w@GRAD = test_product_grad(of_data, w, h@GRAD)"}));
  EXPECT_EQ(grads_, Lines{"w: w@GRAD"});
}

TEST_F(BackwardTest, GradientsStopWhereTheProgramSaysSo) {
  Op("test_square", {"w"}, {"h"});
  Op("test_product", {"h", "v"}, {"p"});
  Op("test_total", {"p"}, {"loss"});
  program_.SetStopGradient("h", true);
  const Lines lines = Backward("loss");
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[2], "v@GRAD = test_product_grad(h, v, p@GRAD)");
  EXPECT_EQ(grads_, Lines{"v: v@GRAD"});
}

TEST_F(BackwardTest, GradientsStopWhereTheCallerSaysSo) {
  Op("test_square", {"w"}, {"h"});
  Op("test_product", {"h", "v"}, {"p"});
  Op("test_total", {"p"}, {"loss"});
  EXPECT_EQ(Backward("loss", {.no_gradient = {"v"}}).back(),
            "w@GRAD = test_square_grad(w, h@GRAD)");
  EXPECT_EQ(grads_, Lines{"w: w@GRAD"});
}

TEST_F(BackwardTest, GivesTheGradientsThatAreAskedFor) {
  program_.SetStopGradient("x", false);
  Op("test_product", {"x", "w"}, {"h"});
  Op("test_total", {"h"}, {"loss"});
  EXPECT_EQ(Backward("loss", {.parameters = {"x", "h", "x"}}),
            (Lines{"loss@GRAD = fill_constant()",
                   "h@GRAD = test_total_grad(h, loss@GRAD)",
                   "x@GRAD = test_product_grad(x, w, h@GRAD)"}));
  EXPECT_EQ(grads_, (Lines{"x: x@GRAD", "h: h@GRAD"}));
}

TEST_F(BackwardTest, AnOutputWithoutGradientIsLeftOutOrZero) {
  Op("test_parts", {"w"}, {"a", "b"});
  Op("test_halves", {"v"}, {"c", "d"});
  Op("test_product", {"b", "c"}, {"h"});
  Op("test_total", {"h"}, {"loss"});
  const Lines lines = Backward("loss");
  EXPECT_EQ(Lines(lines.begin() + 3, lines.end()),
            (Lines{"d@GRAD@ZERO = fill_constant()",
                   "v@GRAD = test_halves_grad(c@GRAD, d@GRAD@ZERO)",
                   "w@GRAD = test_parts_grad(b@GRAD)"}));
  const OpDesc& zeros = program_.block().ops[7];
  EXPECT_EQ(std::get<double>(zeros.attributes.at("value")), 0.0);
  EXPECT_EQ(program_.FindVar("d@GRAD@ZERO").dims, DDim({3}));
}

TEST_F(BackwardTest, ZerosOfUnknownShapeAreMadeOfTheShape) {
  program_.Data("y", DType::kFloat32, {-1});
  program_.SetStopGradient("y", false);
  Op("test_halves", {"y"}, {"a", "b"});
  Op("test_total", {"a"}, {"loss"});
  EXPECT_EQ(Backward("loss", {.parameters = {"y"}}),
            (Lines{"loss@GRAD = fill_constant()",
                   "a@GRAD = test_total_grad(a, loss@GRAD)",
                   "b@SHAPE = shape(b)", "b@GRAD@ZERO = fill_constant(b@SHAPE)",
                   "y@GRAD = test_halves_grad(a@GRAD, b@GRAD@ZERO)"}));
}

TEST_F(BackwardTest, AnElementOfManyThatNobodyNeedsKeepsItsPlace) {
  program_.AppendOp("test_stack", {{"Xs", {"x", "w", "w"}}}, {}, {},
                    {{"Out", {"h"}}});
  Op("test_total", {"h"}, {"loss"});
  const Lines lines = Backward("loss");
  EXPECT_EQ(lines[2],
            "test_stack@UNUSED, w@GRAD@RENAME@0, w@GRAD@RENAME@1 = "
            "test_stack_grad(h@GRAD)");
}

TEST_F(BackwardTest, GradientOpsMayReadEachOther) {
  program_.SetStopGradient("w", true);
  Op("test_minus", {"w", "v"}, {"h"});  // w's gradient is needed only for v's
  Op("test_total", {"h"}, {"loss"});
  const Lines lines = Backward("loss");
  EXPECT_EQ(Lines(lines.begin() + 2, lines.end()),
            (Lines{"w@GRAD = test_keep_grad(h, h@GRAD)",
                   "v@GRAD = test_square(w@GRAD)"}));
  EXPECT_EQ(grads_, Lines{"v: v@GRAD"});
}

TEST_F(BackwardTest, GradientOpsMayReadContributions) {
  Op("test_minus", {"w", "v"}, {"h"});
  Op("test_product", {"h", "w"}, {"p"});
  Op("test_minus", {"p", "v"}, {"q"});
  Op("test_total", {"q"}, {"loss"});
  const Lines lines = Backward("loss");
  EXPECT_EQ(Lines(lines.begin() + 2, lines.end()),
            (Lines{"p@GRAD = test_keep_grad(q, q@GRAD)",
                   "v@GRAD@RENAME@0 = test_square(p@GRAD)",
                   "h@GRAD, w@GRAD@RENAME@0 = test_product_grad(h, w, p@GRAD)",
                   "w@GRAD@RENAME@1 = test_keep_grad(h, h@GRAD)",
                   "v@GRAD@RENAME@1 = test_square(w@GRAD@RENAME@1)",
                   "w@GRAD = sum(w@GRAD@RENAME@0, w@GRAD@RENAME@1)",
                   "v@GRAD = sum(v@GRAD@RENAME@0, v@GRAD@RENAME@1)"}));
}

TEST_F(BackwardTest, AGradientOpOfZerosOnlyIsLeftOut) {
  Op("test_each", {"w", "v"}, {"low", "high"});
  Op("test_total", {"high"}, {"loss"});
  const Lines lines = Backward("loss");
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[2], "v@GRAD = test_square(high@GRAD)");
  EXPECT_EQ(grads_, Lines{"v: v@GRAD"});
}

TEST_F(BackwardTest, NoGradientFlowsToWhatOnlyGivesItsShape) {
  Op("test_square", {"v"}, {"like"});
  Op("test_like", {"w", "like"}, {"h"});
  Op("test_total", {"h"}, {"loss"});
  Backward("loss");
  EXPECT_EQ(grads_, Lines{"w: w@GRAD"});
}

TEST_F(BackwardTest, SurvivesSavingAndLoading) {
  Op("test_product", {"w", "w"}, {"h"});
  Op("test_total", {"h"}, {"loss"});
  Backward("loss");
  const Program loaded = ParseProgram(SerializeProgram(program_));
  EXPECT_EQ(ToString(loaded), ToString(program_));
  EXPECT_EQ(loaded.CloneForTest().block().ops.size(), 2u);
}

TEST_F(BackwardTest, RunningOutOfMemoryLeavesTheProgramAsItWas) {
  Op("test_product", {"w", "w"}, {"h"});
  Op("test_total", {"h"}, {"loss"});
  const std::string before = SerializeProgram(program_);
  const auto sweep = SweepAllocationFailures([&] {
    Program program(program_);
    bool appended = false;
    try {
      AppendBackward(program, "loss", {}, {"me.cc", 5});
      appended = true;
    } catch (const Error&) {
      if (program.block().ops.size() != 2) throw std::logic_error("changed");
      throw;
    }
    if (appended && program.block().ops.size() != 6) {
      throw std::logic_error("not all");
    }
  });
  EXPECT_GT(sweep.refused, 100);
}

}  // namespace
}  // namespace sluice::testing
