#include "sluice/framework/program/program.h"

#include "tests/framework/test_ops.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

namespace sluice {
namespace {

using sluice::testing::Append;
using sluice::testing::ExpectError;

class ProgramTest : public ::testing::Test {
 protected:
  ProgramTest() {
    sluice::testing::UseTestOps();
    program_.Data("x", DType::kFloat32, {-1, 4});
    program_.Data("y", DType::kFloat32, {3, 4});
  }
  Program program_;
};

TEST_F(ProgramTest, InfersShapesWhenAnOpIsAdded) {
  program_.AppendOp("test_add", {{"X", {"x"}}, {"Y", {"y"}}});
  const Var out = program_.Output("Out");
  EXPECT_EQ(out.name(), "test_add_1.Out");
  EXPECT_EQ(out.dims(), DDim({3, 4}));
  EXPECT_EQ(out.dtype(), DType::kFloat32);
}

TEST_F(ProgramTest, FillsInDefaultAttributes) {
  const OpDesc& op =
      program_.AppendOp("test_add", {{"X", {"x"}}, {"Y", {"y"}}});
  EXPECT_EQ(std::get<double>(op.attributes.at("bias")), 0.0);
}

TEST_F(ProgramTest, AnErrorNamesTheUsersOwnLine) {
  const int line = __LINE__ + 2;
  const auto append = [&] {
    program_.AppendOp("test_add", {{"X", {"x"}}, {"Y", {"z"}}});
  };
  ExpectError(ErrorCode::kNotFound, "program.unknown_var",
              {"no variable z", "there are x, y",
               "program_test.cc:", std::to_string(line)},
              append);
}

TEST_F(ProgramTest, AFailedAppendLeavesTheProgramAsItWas) {
  const uint64_t version = program_.version();
  program_.Data("wide", DType::kFloat32, {3, 5});
  EXPECT_GT(program_.version(), version);
  const uint64_t before = program_.version();
  EXPECT_THROW(Append(&program_, "test_add", {{"X", {"y"}}, {"Y", {"wide"}}}),
               Error);
  EXPECT_THROW(Append(&program_, "no_such_op", {}), Error);
  EXPECT_THROW(program_.AppendOp("test_many", {{"Index", {"x"}}, {"Xs", {"x"}}},
                                 {{"number", int64_t{1}}}),
               Error);
  EXPECT_EQ(program_.version(), before);
  EXPECT_TRUE(program_.block().ops.empty());
  EXPECT_EQ(program_.block().vars().size(), 3u);
}

TEST_F(ProgramTest, RefusesNamesThatAreTakenOrEmpty) {
  ExpectError(ErrorCode::kInvalidArgument, "program.var_twice", {"x"},
              [&] { program_.Data("x", DType::kFloat32, {1}); });
  ExpectError(ErrorCode::kInvalidArgument, "program.var_unnamed", {},
              [&] { program_.Data("", DType::kFloat32, {1}); });
}

TEST_F(ProgramTest, PersistablesHaveAKnownShape) {
  EXPECT_EQ(program_.Persistable("w", DType::kFloat32, {2}).dims(), DDim({2}));
  ExpectError(ErrorCode::kInvalidArgument, "program.persistable_dims",
              {"v", "[?]"},
              [&] { program_.Persistable("v", DType::kFloat32, {-1}); });
}

TEST_F(ProgramTest, NewNamesAvoidThoseThatAreTaken) {
  program_.Data("test_add_1.Out", DType::kFloat32, {3, 4});
  EXPECT_EQ(Append(&program_, "test_add", {{"X", {"x"}}, {"Y", {"y"}}}),
            "test_add_2.Out");
  EXPECT_EQ(Append(&program_, "test_add", {{"X", {"x"}}, {"Y", {"y"}}}),
            "test_add_3.Out");
}

TEST_F(ProgramTest, RenamesAnOutputWhereverItIsNamed) {
  const Var rows = program_.RaggedData("rows", DType::kFloat32, {-1, 2});
  program_.AppendOp("relu", {{"X", {"rows"}}});
  const size_t first = program_.block().ops.size();
  program_.AppendOp("relu", {{"X", {"rows"}}});
  const std::string made = program_.Output("Out").name();
  program_.AppendOp("sequence_reverse", {{"X", {made}}});
  program_.SetRows(program_.Output("Out").name(), made);
  const uint64_t version = program_.version();
  EXPECT_TRUE(program_.Rename(made, "hidden", first));
  EXPECT_GT(program_.version(), version);
  EXPECT_FALSE(program_.HasVar(made));
  EXPECT_EQ(program_.FindVar("hidden").offsets, rows.offsets().name());
  EXPECT_EQ(program_.block().ops[first].Output("Out"), ArgVars{"hidden"});
  EXPECT_EQ(program_.block().ops[first + 1].Input("X"), ArgVars{"hidden"});
  EXPECT_EQ(program_.FindVar(program_.Output("Out").name()).rows, "hidden");
  EXPECT_NE(program_.block().ops[0].Output("Out"), ArgVars{"hidden"});
  ExpectError(ErrorCode::kInvalidArgument, "program.rename_taken", {"rows"},
              [&] { program_.Rename("hidden", "rows", first); });
  ExpectError(ErrorCode::kInvalidArgument, "program.var_unnamed", {"name"},
              [&] { program_.Rename("hidden", "", first); });
  // It is made before, or not at all.
  EXPECT_FALSE(program_.Rename("hidden", "new", first + 1));
  EXPECT_FALSE(program_.Rename("nothing", "new", first));
  EXPECT_TRUE(program_.HasVar("hidden"));
}

TEST_F(ProgramTest, AnOpMayWriteAVariableAgain) {
  program_.AppendOp("test_add", {{"X", {"x"}}, {"Y", {"y"}}}, {}, {},
                    {{"Out", {"sum"}}});
  program_.AppendOp("test_add", {{"X", {"sum"}}, {"Y", {"y"}}}, {}, {},
                    {{"Out", {"sum"}}});
  EXPECT_EQ(program_.block().ops.size(), 2u);
  EXPECT_EQ(program_.block().vars().size(), 3u);
}

TEST_F(ProgramTest, RefusesOutputsThatCannotBe) {
  ExpectError(ErrorCode::kInvalidArgument, "program.output_is_data",
              {"variable x, which is fed"}, [&] {
                program_.AppendOp("test_divide", {{"X", {"y"}}}, {}, {},
                                  {{"Out", {"x"}}});
              });
  program_.Persistable("w", DType::kFloat64, {3, 4});
  ExpectError(ErrorCode::kInvalidArgument, "program.output_dtype",
              {"Out is float32", "w is float64"}, [&] {
                program_.AppendOp("test_divide", {{"X", {"y"}}}, {}, {},
                                  {{"Out", {"w"}}});
              });
  program_.Persistable("v", DType::kFloat32, {3, 5});
  ExpectError(ErrorCode::kInvalidArgument, "program.output_dims",
              {"[3, 4]", "v has [3, 5]"}, [&] {
                program_.AppendOp("test_divide", {{"X", {"y"}}}, {}, {},
                                  {{"Out", {"v"}}});
              });
}

TEST_F(ProgramTest, RefusesOneVariableAsTwoOutputs) {
  const size_t vars = program_.block().vars().size();
  ExpectError(ErrorCode::kInvalidArgument, "program.output_twice", {"both"},
              [&] {
                program_.AppendOp("test_views", {{"X", {"y"}}}, {}, {},
                                  {{"Out", {"both"}}, {"SameBytes", {"both"}}});
              });
  EXPECT_EQ(program_.block().vars().size(), vars);
}

TEST_F(ProgramTest, RefusesNamesThatAreNoUtf8) {
  const auto refused = [&](auto call) {
    ExpectError(ErrorCode::kInvalidArgument, "program.var_name",
                {"must be UTF-8", "bad\\xff"}, call);
  };
  const size_t vars = program_.block().vars().size();
  refused([&] { program_.Data("bad\xff", DType::kFloat32, {1}); });
  refused([&] { program_.Persistable("bad\xff", DType::kFloat32, {1}); });
  refused([&] {
    program_.AppendOp("test_divide", {{"X", {"x"}}}, {}, {},
                      {{"Out", {"bad\xff"}}});
  });
  EXPECT_EQ(program_.block().vars().size(), vars);
  EXPECT_EQ(program_.LocationOfData("bad\xff").file, "");
}

TEST_F(ProgramTest, RemembersWhereDataWasMade) {
  program_.Data("here", DType::kFloat32, {1}, "user.cc", 3);
  EXPECT_EQ(program_.LocationOfData("here").line, 3);
  const Program copy = program_;
  EXPECT_EQ(copy.LocationOfData("here").file, "user.cc");
  // The location of the first variable, if the name is taken.
  EXPECT_THROW(program_.Data("here", DType::kFloat32, {1}, "user.cc", 9),
               Error);
  EXPECT_EQ(program_.LocationOfData("here").line, 3);
  EXPECT_EQ(program_.LocationOfData("nobody").file, "");
}

TEST_F(ProgramTest, RefusesVarsOfTwoPrograms) {
  Program other;
  const Var x = program_.Find("x");
  const Var z = other.Data("z", DType::kFloat32, {1});
  const Var left_out;
  EXPECT_EQ(&Program::Common({&x, &left_out}), &program_);
  ExpectError(ErrorCode::kInvalidArgument, "program.mixed", {"z"}, [&] {
    Program::Common({&x, &z});
  });
  OpDesc op;
  op.type = "test_add";
  op.location = {"user.cc", 7};
  ExpectError(ErrorCode::kInvalidArgument, "program.mixed",
              {"test_add: variable z", "created at user.cc:7"}, [&] {
                Program::CommonOf(op, {&x, &z});
              });
  ExpectError(ErrorCode::kFailedPrecondition, "program.common_of_none",
              {"test_add: ", "created at user.cc:7"},
              [&] { Program::CommonOf(op, {}); });
  ExpectError(ErrorCode::kFailedPrecondition, "var.empty", {},
              [&] { Program::Common({&left_out}); });
  ExpectError(ErrorCode::kFailedPrecondition, "program.common_of_none", {},
              [&] { Program::Common({}); });
}

TEST_F(ProgramTest, RefusesOutputsAndHintsWithoutAnOp) {
  ExpectError(ErrorCode::kFailedPrecondition, "program.no_op", {},
              [&] { program_.Output("Out"); });
  ExpectError(ErrorCode::kFailedPrecondition, "program.no_op", {},
              [&] { program_.Hint("prefer variant=plain"); });
  Append(&program_, "test_divide", {{"X", {"y"}}});
  ExpectError(ErrorCode::kNotFound, "program.no_output", {"Up", "number 0"},
              [&] { program_.Output("Up"); });
  ExpectError(ErrorCode::kNotFound, "program.no_output", {"number 1"},
              [&] { program_.Output("Out", 1); });
}

TEST_F(ProgramTest, RefusesAHintThatCannotBeParsed) {
  Append(&program_, "test_divide", {{"X", {"y"}}});
  EXPECT_THROW(program_.Hint("use plain"), Error);
  EXPECT_EQ(program_.block().ops[0].hint, "");
  OpDesc op = program_.block().ops[0];
  op.hint = "use plain";
  EXPECT_THROW(program_.AppendOp(op), Error);
}

TEST_F(ProgramTest, EveryChangeRaisesTheVersion) {
  uint64_t version = program_.version();
  const auto changed = [&] {
    const uint64_t before = version;
    version = program_.version();
    return version > before;
  };
  program_.Persistable("w", DType::kFloat32, {1});
  EXPECT_TRUE(changed());
  Append(&program_, "test_divide", {{"X", {"y"}}});
  EXPECT_TRUE(changed());
  program_.Hint("prefer variant=plain");
  EXPECT_TRUE(changed());
  program_.BeginBlock();
  EXPECT_TRUE(changed());
}

TEST_F(ProgramTest, ACopyIsAProgramOfItsOwn) {
  Program copy = program_;
  EXPECT_NE(copy.uid(), program_.uid());
  copy.Data("z", DType::kFloat32, {1});
  EXPECT_THROW(program_.FindVar("z"), Error);
  program_ = copy;
  EXPECT_NO_THROW(program_.FindVar("z"));
  EXPECT_NE(copy.uid(), program_.uid());
}

TEST_F(ProgramTest, WhatWasMovedFromIsAnEmptyProgram) {
  const uint64_t uid = program_.uid();
  const Program moved = std::move(program_);
  EXPECT_EQ(moved.uid(), uid);
  EXPECT_NE(program_.uid(), uid);
  EXPECT_TRUE(program_.block().vars().empty());
  program_.Data("again", DType::kFloat32, {1});
  EXPECT_EQ(program_.block().vars().size(), 1u);
}

TEST_F(ProgramTest, BlocksHaveParents) {
  EXPECT_EQ(program_.BeginBlock(), 1);
  EXPECT_EQ(program_.BeginBlock(), 2);
  EXPECT_EQ(program_.blocks()[2].parent, 1);
  program_.EndBlock();
  EXPECT_EQ(program_.current_block(), 1);
  program_.EndBlock();
  ExpectError(ErrorCode::kFailedPrecondition, "program.no_block", {"block 0"},
              [&] { program_.EndBlock(); });
  EXPECT_EQ(program_.BeginBlock(), 3);
  program_.DropBlocks(2);
  EXPECT_EQ(program_.current_block(), 1);
  EXPECT_EQ(program_.blocks().size(), 2u);
}

TEST_F(ProgramTest, ReadsAsText) {
  program_.Persistable("w", DType::kFloat32, {3, 4});
  program_.AppendOp("test_add", {{"X", {"x"}}, {"Y", {"w"}}}, {{"bias", 0.5}},
                    {}, {{"Out", {"sum"}}});
  program_.Hint("prefer variant=plain");
  EXPECT_EQ(ToString(program_),
            "block 0 {\n"
            "  x = data(float32 [?, 4])\n"
            "  y = data(float32 [3, 4])\n"
            "  w = persistable(float32 [3, 4])\n"
            "  sum = test_add(X=x, Y=w, bias=0.5)  -> float32 [3, 4]"
            "  # hint: prefer variant=plain\n"
            "}\n");
}

TEST_F(ProgramTest, DescribesWhereAnOpWasCreated) {
  EXPECT_EQ(DescribeLocation({"a.cc", 3}), "created at a.cc:3");
  EXPECT_EQ(DescribeLocation({}), "");
}

TEST(VarTest, RefusesToBeUsedWithoutAProgram) {
  ExpectError(ErrorCode::kFailedPrecondition, "var.empty", {},
              [] { static_cast<void>(Var().dims()); });
}

}  // namespace
}  // namespace sluice
