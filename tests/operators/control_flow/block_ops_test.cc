#include "sluice/framework/program/block_ops.h"

#include <string>
#include <vector>

#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/program/control_flow.h"
#include "sluice/framework/program/program_io.h"
#include "sluice/framework/run/executor.h"
#include "sluice/memory/allocator.h"
#include "sluice/ops.h"

namespace sluice {
namespace {

using ::sluice::testing::ExpectError;
using Names = std::vector<std::string>;

Tensor F(const DDim& dims, const std::vector<float>& values) {
  return Tensor::FromVector<float>(dims, values);
}

// A program with a block 1, and the inputs of an op.
class BlockOpsTest : public ::testing::Test {
 protected:
  BlockOpsTest()
      : x_(program_.Data("x", DType::kFloat32, {-1, 2})),
        condition_(program_.Data("condition", DType::kBool, {1})) {
    program_.BeginBlock();
    state_ = program_.Data("state", DType::kFloat32, {2});
    next_ = ops::Relu(state_);
    program_.EndBlock();
  }

  void Refused(const char* id,
               std::initializer_list<std::string_view> texts,
               const AttributeMap& attributes,
               const Program::ArgList& inputs = {}) {
    ExpectError(ErrorCode::kInvalidArgument, id, texts,
                [&] { program_.AppendOp("loop", inputs, attributes); });
  }

  // A valid loop over the block, with some changes.
  AttributeMap Loop(const AttributeMap& changes = {}) {
    AttributeMap attributes = {{"block", int64_t{1}},
                               {"carried", Names{"state"}},
                               {"carried_out", Names{next_.name()}}};
    for (const auto& [name, value] : changes) {
      attributes[name] = value;
    }
    return attributes;
  }

  Program program_;
  Var x_;
  Var condition_;
  Var state_;
  Var next_;
};

TEST_F(BlockOpsTest, BlocksAreThereAndRunByOneOp) {
  program_.Data("first", DType::kFloat32, {2});
  program_.Data("count", DType::kInt64, {});
  const Program::ArgList inputs = {{"Carried", {"first"}},
                                   {"MaxTrips", {"count"}}};
  Refused("block_op.block", {"block 7"}, Loop({{"block", int64_t{7}}}), inputs);
  Refused("block_op.block", {"block 0"}, Loop({{"block", int64_t{0}}}), inputs);
  program_.AppendOp("loop", inputs, Loop());
  Refused("block_op.held", {"block 1"}, Loop(), inputs);
}

TEST_F(BlockOpsTest, ALoopNamesTheVariablesOfItsBlock) {
  program_.Data("first", DType::kFloat32, {2});
  program_.Data("count", DType::kInt64, {});
  program_.Data("counts", DType::kInt64, {2});
  program_.Data("whole", DType::kInt64, {2});
  const Program::ArgList inputs = {{"Carried", {"first"}},
                                   {"MaxTrips", {"count"}}};
  Refused("loop.data", {"carried", "nobody"},
          Loop({{"carried", Names{"nobody"}}}), inputs);
  Refused("loop.data", {next_.name()}, Loop({{"carried", Names{next_.name()}}}),
          inputs);
  Refused("loop.unfed", {"state"},
          Loop({{"carried", Names()}, {"carried_out", Names()}}),
          {{"MaxTrips", {"count"}}});
  Refused("loop.count", {"carried_out has 0", "carried has 1"},
          Loop({{"carried_out", Names()}}), inputs);
  Refused("loop.count", {"stacked_axes has 1"},
          Loop({{"stacked_axes", std::vector<int64_t>{0}}}), inputs);
  Refused("block_op.output", {"block 1 has no variable nobody"},
          Loop({{"carried_out", Names{"nobody"}}}), inputs);
  Refused("loop.endless", {"MaxTrips", "condition_out"}, Loop(),
          {{"Carried", {"first"}}});
  Refused("block_op.one_element", {"counts", "[2]"}, Loop(),
          {{"Carried", {"first"}}, {"MaxTrips", {"counts"}}});
  Refused("loop.dtype", {"first value of state", "float32", "int64"}, Loop(),
          {{"Carried", {"whole"}}, {"MaxTrips", {"count"}}});
  Refused("loop.dtype", {"must be bool", next_.name()},
          Loop({{"condition_out", next_.name()}}), inputs);
  Refused("loop.stacked_axis", {"5", "[2]"},
          Loop({{"stacked", Names{next_.name()}},
                {"stacked_axes", std::vector<int64_t>{5}}}),
          inputs);
  ExpectError(
      ErrorCode::kInvalidArgument, "block_op.output_count",
      {"output Out has 2", "give 1"}, [&] {
        program_.AppendOp("loop", inputs, Loop(), {}, {{"Out", {"a", "b"}}});
      });
}

TEST_F(BlockOpsTest, SequencesHaveTheSameLength) {
  program_.Data("first", DType::kFloat32, {2});
  program_.Data("three", DType::kFloat32, {3, 2});
  program_.Data("four", DType::kFloat32, {4, 2});
  program_.BeginBlock();
  program_.Data("a", DType::kFloat32, {2});
  program_.Data("b", DType::kFloat32, {2});
  program_.EndBlock();
  const AttributeMap attributes = {{"block", int64_t{2}},
                                   {"slices", Names{"a", "b"}}};
  Refused("loop.sequence_length", {"four has 4", "3"}, attributes,
          {{"Sequences", {"three", "four"}}});
  AttributeMap axes = attributes;
  axes["sequence_axes"] = std::vector<int64_t>{0, 2};
  Refused("loop.sequence_axis", {"2", "four"}, axes,
          {{"Sequences", {"three", "four"}}});
}

TEST_F(BlockOpsTest, TheBlocksOfAnIfGiveTheSame) {
  const auto refused = [&](const char* id,
                           std::initializer_list<std::string_view> texts,
                           const AttributeMap& attributes) {
    ExpectError(ErrorCode::kInvalidArgument, id, texts, [&] {
      program_.AppendOp("if", {{"Cond", {"condition"}}}, attributes);
    });
  };
  program_.BeginBlock();
  const std::string relu = ops::Relu(x_).name();
  program_.EndBlock();
  program_.BeginBlock();
  const std::string shape = ops::Shape(x_).name();
  program_.EndBlock();
  refused("if.same_block", {"2"},
          {{"then_block", int64_t{2}}, {"else_block", int64_t{2}}});
  refused("if.data", {"block 1", "state"},
          {{"then_block", int64_t{1}}, {"else_block", int64_t{2}}});
  refused("if.outputs", {"names 1", "else_outputs 0"},
          {{"then_block", int64_t{2}},
           {"else_block", int64_t{3}},
           {"then_outputs", Names{relu}}});
  refused("if.output_dtype", {"float32", "int64", relu, shape},
          {{"then_block", int64_t{2}},
           {"else_block", int64_t{3}},
           {"then_outputs", Names{relu}},
           {"else_outputs", Names{shape}}});
}

TEST_F(BlockOpsTest, WhatABlockHasStaysInIt) {
  ExpectError(ErrorCode::kNotFound, "program.var_of_block",
              {"state", "block 1", "output"}, [&] { ops::Relu(state_); });
  program_.BeginBlock();
  ExpectError(ErrorCode::kInvalidArgument, "program.var_hides",
              {"x", "block 0"},
              [&] { program_.Data("x", DType::kFloat32, {1}); });
  program_.EndBlock();
  const Var y = ops::Relu(x_);
  program_.BeginBlock();
  ExpectError(ErrorCode::kInvalidArgument, "program.output_of_block",
              {y.name(), "output"}, [&] {
                program_.AppendOp("relu", {{"X", {"x"}}}, {}, {},
                                  {{"Out", {y.name()}}});
              });
}

TEST_F(BlockOpsTest, BlocksInEachOtherHaveALimit) {
  for (int i = 0; i < Program::kMaxBlockDepth; ++i) {
    program_.BeginBlock();
  }
  ExpectError(ErrorCode::kResourceExhausted, "program.block_depth", {"64"},
              [&] { program_.BeginBlock(); });
}

TEST_F(BlockOpsTest, BuildersTakeBackWhatTheyBegan) {
  const size_t blocks = program_.blocks().size();
  Program other;
  const Var foreign = other.Data("foreign", DType::kFloat32, {1});
  ExpectError(
      ErrorCode::kInvalidArgument, "control_flow.program", {"foreign"}, [&] {
        Cond(
            condition_, [&] { return Vars{foreign}; }, [&] { return Vars{}; });
      });
  EXPECT_EQ(program_.blocks().size(), blocks);
  EXPECT_EQ(program_.current_block(), 0);
  const auto always = [&](const Vars&) { return condition_; };
  ExpectError(
      ErrorCode::kInvalidArgument, "control_flow.no_variables", {"while_loop"},
      [&] { WhileLoop(always, [](const Vars& vars) { return vars; }, {}); });
  ExpectError(ErrorCode::kInvalidArgument, "control_flow.dims",
              {"2 shapes for 1"}, [&] {
                WhileLoop(always, [](const Vars& vars) { return vars; }, {x_},
                          {.dims = {DDim({1}), DDim({2})}});
              });
  ExpectError(
      ErrorCode::kInvalidArgument, "while_loop.count", {"gives 0", "got 1"},
      [&] { WhileLoop(always, [](const Vars&) { return Vars(); }, {x_}); });
  const Var scalar = program_.Data("scalar", DType::kFloat32, {});
  ExpectError(
      ErrorCode::kInvalidArgument, "scan.sequence_rank", {"scalar"}, [&] {
        Scan([](const Vars&, const Vars&) { return ScanStep(); }, {}, {scalar});
      });
  ExpectError(ErrorCode::kInvalidArgument, "scan.count", {"0", "got 1"}, [&] {
    Scan([](const Vars&, const Vars&) { return ScanStep(); }, {x_}, {x_});
  });
  const auto wider = [&](const Var& x) {
    return ops::Concat({x, x}, {.axis = 1});
  };
  ExpectError(
      ErrorCode::kInvalidArgument, "control_flow.carried_shape",
      {"while_loop: variable 0", "keep shape [?, 2]", "shape [?, 4]"}, [&] {
        WhileLoop(always, [&](const Vars& v) { return Vars{wider(v[0])}; },
                  {x_});
      });
  ExpectError(ErrorCode::kInvalidArgument, "control_flow.carried_shape",
              {"scan: variable 0", "shape [?, 4]"}, [&] {
                Scan(
                    [&](const Vars& v, const Vars&) {
                      return ScanStep{{wider(v[0])}, {}};
                    },
                    {x_}, {x_});
              });
  EXPECT_EQ(program_.blocks().size(), blocks);
}

// Errors that are found only at run time.
TEST_F(BlockOpsTest, ValuesAreCheckedWhenTheyAreThere) {
  Executor executor;
  Program program;
  const Var sequence = program.Data("sequence", DType::kFloat32, {-1, -1});
  const Var other = program.Data("other", DType::kFloat32, {-1, -1});
  const Var flags = program.Data("flags", DType::kBool, {-1});
  const ScanResult both = Scan(
      [](const Vars&, const Vars& elements) {
        return ScanStep{{}, {elements[0], elements[1]}};
      },
      {}, {sequence, other});
  ExpectError(ErrorCode::kInvalidArgument, "loop.sequence_size",
              {"other has 3", "sequence has 2", "in op 0 (loop)"}, [&] {
                executor.Run(program,
                             {{"sequence", F({2, 1}, {1, 2})},
                              {"other", F({3, 1}, {1, 2, 3})}},
                             {both.stacked[0]});
              });
  const Vars chosen = Cond(
      flags, [&] { return Vars{sequence}; }, [&] { return Vars{other}; });
  Tensor two;
  two.mutable_data<bool>({2}, CPUPlace())[0] = true;
  ExpectError(ErrorCode::kInvalidArgument, "block_op.value", {"Cond", "[2]"},
              [&] {
                executor.Run(program,
                             {{"sequence", F({1, 1}, {1})},
                              {"other", F({1, 1}, {1})},
                              {"flags", two}},
                             {chosen[0]});
              });
  Program unranked;
  unranked.Data("sequence", DType::kFloat32, DDim::UnknownRank());
  unranked.BeginBlock();
  unranked.Data("element", DType::kFloat32, DDim::UnknownRank());
  unranked.EndBlock();
  unranked.AppendOp("loop", {{"Sequences", {"sequence"}}},
                    {{"block", int64_t{1}},
                     {"slices", Names{"element"}},
                     {"stacked", Names{"element"}},
                     {"sequence_axes", std::vector<int64_t>{1}}},
                    {}, {{"Stacked", {"out"}}});
  ExpectError(
      ErrorCode::kInvalidArgument, "loop.sequence_rank", {"sequence", "[3]"},
      [&] {
        executor.Run(unranked, {{"sequence", F({3}, {1, 2, 3})}}, {"out"});
      });
}

TEST_F(BlockOpsTest, WhatIsStackedHasOneShape) {
  Program program;
  const Var sequence = program.Data("sequence", DType::kFloat32, {-1, -1});
  const ScanResult places = Scan(
      [](const Vars&, const Vars& elements) {
        return ScanStep{{}, {ops::Nonzero(elements[0])}};
      },
      {}, {sequence});
  Executor executor;
  ExpectError(ErrorCode::kInvalidArgument, "loop.stacked_shape",
              {"[1, 2] after iteration 1", "[1, 1]"}, [&] {
                executor.Run(program, {{"sequence", F({2, 2}, {1, 0, 1, 1})}},
                             {places.stacked[0]});
              });
}

TEST_F(BlockOpsTest, ALoopDoesNotCopyWhatItsBodyLeavesUnchanged) {
  Program program;
  const Var weight = program.Data("weight", DType::kFloat32, {256, 256});
  const Var sequence = program.Data("sequence", DType::kFloat32, {-1, 2});
  const Var state = program.Data("state", DType::kFloat32, {2});
  const ScanResult scan = Scan(
      [](const Vars& carried, const Vars& elements) {
        const Var same = ops::Assign(ops::Assign(carried[0]));
        return ScanStep{{same, ops::ElementwiseAdd(carried[1], elements[0])},
                        {}};
      },
      {weight, state}, {sequence});
  const Tensor ones = F({256, 256}, std::vector<float>(65536, 1.0F));
  Executor executor;
  ResetPeak({});
  const size_t before = Stats({}).in_use;
  const auto results = executor.Run(program,
                                    {{"weight", ones},
                                     {"sequence", F({2, 2}, {1, 2, 3, 4})},
                                     {"state", F({2}, {0, 1})}},
                                    {scan.carried[0], scan.carried[1]});
  EXPECT_EQ(results[0].ToVector<float>(), ones.ToVector<float>());
  EXPECT_EQ(results[1].ToVector<float>(), (std::vector<float>{4, 7}));
  EXPECT_LT(Stats({}).peak - before, 2 * ones.bytes());  // the result's, once
}

TEST_F(BlockOpsTest, OnlyTheLastStretchWrites) {
  const Var weight = program_.Persistable("weight", DType::kFloat32, {2});
  program_.AppendOp("scale", {{"X", {weight.name()}}}, {}, {},
                    {{"Out", {weight.name()}}});
  const Var places = ops::Nonzero(x_);
  const Var twice = ops::ElementwiseAdd(places, places);
  Executor executor;
  ExpectError(ErrorCode::kUnimplemented, "plan.writes_in_stretches",
              {"op 0 (scale) writes weight", "op 2 (elementwise_add)"}, [&] {
                executor.Prepare(program_, {{"x", F({1, 2}, {1, 2})}}, {twice});
              });
}

TEST_F(BlockOpsTest, UpdatesAfterAnOpThatWaitsWaitToo) {
  const Var weight = program_.Persistable("weight", DType::kFloat32, {2});
  const Var places = ops::Nonzero(x_);
  const Var twice = ops::ElementwiseAdd(places, places);
  const Var before = ops::Scale(weight, {.scale = 3});
  program_.AppendOp("scale", {{"X", {weight.name()}}}, {{"scale", 2.0}}, {},
                    {{"Out", {weight.name()}}});
  const Var after = ops::Scale(weight, {.scale = 3});
  Executor executor;
  Tensor& value = *executor.scope().Var("weight").GetMutable<Tensor>();
  value = F({2}, {10, 20});
  const auto results = executor.Run(program_, {{"x", F({1, 2}, {0, 2})}},
                                    {before, after, twice});
  EXPECT_EQ(results[0].ToVector<float>(), (std::vector<float>{30, 60}));
  EXPECT_EQ(results[1].ToVector<float>(), (std::vector<float>{60, 120}));
  EXPECT_EQ(results[2].ToVector<int64_t>(), (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(value.ToVector<float>(), (std::vector<float>{20, 40}));
}

TEST_F(BlockOpsTest, TheLastStretchWritesAlsoWhatNobodyFetches) {
  const Var weight = program_.Persistable("weight", DType::kFloat32, {2});
  const ScanResult sums = Scan(
      [](const Vars& carried, const Vars& elements) {
        return ScanStep{{ops::ElementwiseAdd(carried[0], elements[0])}, {}};
      },
      {weight}, {x_});
  program_.AppendOp("assign", {{"X", {sums.carried[0].name()}}}, {}, {},
                    {{"Out", {weight.name()}}});
  // Reads a value that the last stretch has written.
  const Var after = ops::Scale(weight, {.scale = 2});
  Executor executor;
  Tensor& value = *executor.scope().Var("weight").GetMutable<Tensor>();
  value = F({2}, {10, 20});
  const Feeds feeds = {{"x", F({1, 2}, {1, 2})}};
  EXPECT_TRUE(executor.Run(program_, feeds, {}).empty());
  EXPECT_EQ(value.ToVector<float>(), (std::vector<float>{11, 22}));
  const auto results = executor.Run(program_, feeds, {after});
  EXPECT_EQ(results[0].ToVector<float>(), (std::vector<float>{24, 48}));
  EXPECT_EQ(value.ToVector<float>(), (std::vector<float>{12, 24}));
}

TEST_F(BlockOpsTest, APersistableVariableNeedsAValue) {
  const Var weight = program_.Persistable("weight", DType::kFloat32, {2});
  const ScanResult sums = Scan(
      [](const Vars& carried, const Vars& elements) {
        return ScanStep{{ops::ElementwiseAdd(carried[0], elements[0])}, {}};
      },
      {weight}, {x_});
  Executor executor;
  const Feeds feeds = {{"x", F({1, 2}, {1, 2})}};
  ExpectError(ErrorCode::kFailedPrecondition, "run.uninitialised", {"weight"},
              [&] { executor.Run(program_, feeds, {sums.carried[0]}); });
  const Feeds none = {{"x", F({0, 2}, {})}};
  ExpectError(ErrorCode::kFailedPrecondition, "run.uninitialised", {"weight"},
              [&] { executor.Run(program_, none, {sums.carried[0]}); });
  // A loop whose shapes change runs between two plans.
  const Var other = program_.Persistable("other", DType::kFloat32, {2});
  const ScanResult grown = Scan(
      [](const Vars& carried, const Vars& /*elements*/) {
        return ScanStep{{ops::Concat({carried[0], carried[0]}, {.axis = 0})},
                        {}};
      },
      {other}, {x_}, {.dims = {{-1}}});
  ExpectError(ErrorCode::kFailedPrecondition, "block_op.uninitialised",
              {"other"},
              [&] { executor.Run(program_, feeds, {grown.carried[0]}); });
  *executor.scope().Var("weight").GetMutable<Tensor>() = F({2}, {10, 20});
  const auto results = executor.Run(program_, feeds, {sums.carried[0]});
  EXPECT_EQ(results[0].ToVector<float>(), (std::vector<float>{11, 22}));
}

}  // namespace
}  // namespace sluice
