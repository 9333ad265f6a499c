#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/testing/expect_error.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/framework/inspect/explain.h"
#include "sluice/framework/program/control_flow.h"
#include "sluice/framework/program/program_io.h"
#include "sluice/framework/program/prune.h"
#include "sluice/framework/run/executor.h"
#include "sluice/laboratory/measure/profile.h"
#include "sluice/laboratory/tuning/tune_program.h"
#include "sluice/ops.h"

namespace sluice {
namespace {

using ::sluice::testing::ExpectError;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using Floats = std::vector<float>;
using Ints = std::vector<int64_t>;

Tensor StretchTensor(const DDim& dims, const Floats& values) {
  return Tensor::FromVector<float>(dims, values);
}

// The parameter selects the program as built, or read from a file.
class StretchesTest : public ::testing::Test {
 protected:
  std::vector<Tensor> Run(const Feeds& feeds, const Fetches& fetches) {
    auto results = executor_.Run(program_, feeds, fetches);
    const Program loaded = ParseProgram(SerializeProgram(program_), "test");
    Fetches names;
    for (const FetchTarget& fetch : fetches) {
      names.emplace_back(fetch.name());
    }
    const auto again = Executor().Run(loaded, feeds, names);
    for (size_t i = 0; i < results.size(); ++i) {
      EXPECT_EQ(results[i].dims(), again[i].dims());
    }
    EXPECT_EQ(ToString(loaded), ToString(program_));
    return results;
  }

  Program program_;
  Executor executor_;
};

TEST_F(StretchesTest, PreparesWhatReadsAShapeThatDependsOnData) {
  const Var x = program_.Data("x", DType::kFloat32, {-1});
  const Var places = ops::Nonzero(x);
  const Var doubled = ops::ElementwiseAdd(places, places);
  const Feeds feeds = {{"x", StretchTensor({5}, {0, 2, -0.0F, 3, 0})}};
  const auto results = Run(feeds, {places, doubled});
  EXPECT_EQ(results[0].dims(), DDim({1, 2}));
  EXPECT_EQ(results[0].ToVector<int64_t>(), (Ints{1, 3}));
  EXPECT_EQ(results[1].ToVector<int64_t>(), (Ints{2, 6}));
  const auto none = Run({{"x", StretchTensor({2}, {0, 0})}}, {doubled, places});
  EXPECT_EQ(none[0].dims(), DDim({1, 0}));
}

TEST_F(StretchesTest, TakesOperandsFromData) {
  const Var x = program_.Data("x", DType::kFloat32, {-1});
  const Var places = ops::Nonzero(x);
  const Var shape = ops::Shape(places);
  OpDesc fill;
  fill.type = "reshape";
  fill.inputs = {{"X", {places.name()}}, {"Shape", {shape.name()}}};
  program_.AppendOp(fill);
  const Var same = program_.Output("Out");
  const auto results = Run({{"x", StretchTensor({3}, {1, 0, 1})}}, {same});
  EXPECT_EQ(results[0].dims(), DDim({1, 2}));
}

TEST_F(StretchesTest, RunsTheBlockThatTheConditionChooses) {
  const Var x = program_.Data("x", DType::kFloat32, {2});
  const Var y = program_.Data("y", DType::kFloat32, {2});
  const Var positive =
      ops::GreaterThan(ops::ReduceSum(x, {.reduce_all = true}),
                       ops::FillConstant(program_, {}, {.value = 0}));
  const Vars out = Cond(
      positive,
      [&] {
        return Vars{ops::ElementwiseAdd(x, y), x};
      },
      [&] {
        return Vars{ops::Relu(y), y};
      });
  const Var after = ops::Relu(out[0]);
  auto results = Run(
      {{"x", StretchTensor({2}, {1, 2})}, {"y", StretchTensor({2}, {-5, 5})}},
      {after, out[1]});
  EXPECT_EQ(results[0].ToVector<float>(), (Floats{0, 7}));
  EXPECT_EQ(results[1].ToVector<float>(), (Floats{1, 2}));
  results = Run(
      {{"x", StretchTensor({2}, {-1, 0})}, {"y", StretchTensor({2}, {-5, 5})}},
      {after, out[1]});
  EXPECT_EQ(results[0].ToVector<float>(), (Floats{0, 5}));
  EXPECT_EQ(results[1].ToVector<float>(), (Floats{-5, 5}));
}

// A condition on shapes: one plan, with the ops of one block.
TEST_F(StretchesTest, AKnownConditionLeavesNoBlock) {
  const Var x = program_.Data("x", DType::kFloat32, {-1, -1});
  const Var rows = ops::Slice(ops::Shape(x), {0}, {1});
  const Var many = ops::GreaterThan(
      rows,
      ops::FillConstant(program_, {1}, {.dtype = DType::kInt64, .value = 2}));
  const Vars out = Cond(
      many,
      [&] {
        const Var inner = ops::Relu(x);
        return Cond(
            many, [&] { return Vars{ops::ElementwiseAdd(inner, x)}; },
            [&] { return Vars{ops::Relu(inner)}; });
      },
      [&] { return Vars{ops::Cast(ops::Nonzero(x), DType::kFloat32)}; });
  const Var after = ops::ElementwiseAdd(out[0], out[0]);
  const Feeds feeds = {{"x", StretchTensor({3, 1}, {-1, 2, 3})}};
  const auto plan = executor_.Prepare(program_, feeds, {after});
  EXPECT_TRUE(plan->whole());
  EXPECT_THAT(ExplainText(*plan), HasSubstr("block 1 runs in its place"));
  EXPECT_EQ(Run(feeds, {after})[0].ToVector<float>(), (Floats{-2, 8, 12}));
  // Its ops are in the first stretch if there are several.
  const Var places = ops::Nonzero(out[0]);
  const Var twice = ops::ElementwiseAdd(places, places);
  EXPECT_EQ(Run(feeds, {twice})[0].ToVector<int64_t>(),
            (Ints{0, 2, 4, 0, 0, 0}));
  // The other branch is known only at run time.
  const Feeds few = {{"x", StretchTensor({1, 2}, {0, 3})}};
  EXPECT_FALSE(executor_.Prepare(program_, few, {out[0]})->whole());
}

// A variable of the chosen block gets a new name, here beside `o/t` of the
// program.
TEST_F(StretchesTest, AKnownConditionReplacesNoOtherVariable) {
  const Var x = program_.Data("x", DType::kFloat32, {-1});
  const auto add = [&](const char* type, const char* from, const char* to) {
    program_.AppendOp(type, {{"X", {from}}}, {}, {}, {{"Out", {to}}});
  };
  add("relu", "x", "o/t");
  const Var many = ops::GreaterThan(
      ops::Shape(x),
      ops::FillConstant(program_, {1}, {.dtype = DType::kInt64, .value = 1}));
  const int64_t block = program_.BeginBlock();
  add("neg", "x", "t");
  add("exp", "t", "r");
  program_.EndBlock();
  const int64_t other = program_.BeginBlock();
  add("exp", "x", "s");
  program_.EndBlock();
  program_.AppendOp("if", {{"Cond", {many.name()}}},
                    {{"then_block", block},
                     {"else_block", other},
                     {"then_outputs", std::vector<std::string>{"r"}},
                     {"else_outputs", std::vector<std::string>{"s"}}},
                    {}, {{"Out", {"o"}}});
  program_.AppendOp("elementwise_add", {{"X", {"o"}}, {"Y", {"o/t"}}}, {}, {},
                    {{"Out", {"y"}}});
  const Feeds feeds = {{"x", StretchTensor({2}, {0, 0})}};
  EXPECT_TRUE(executor_.Prepare(program_, feeds, {"y"})->whole());
  const Feeds some = {{"x", StretchTensor({2}, {1, -1})}};
  const auto results = Run(some, {"y", "o/t"});
  EXPECT_FLOAT_EQ(results[0].data<float>()[0], std::exp(-1.0F) + 1);
  EXPECT_EQ(results[1].ToVector<float>(), (Floats{1, 0}));
}

TEST_F(StretchesTest, LoopsWhileTheConditionHolds) {
  const Var x = program_.Data("x", DType::kFloat32, {1});
  const auto small = [&](const Vars& vars) {
    return ops::LessThan(vars[0],
                         ops::FillConstant(program_, {1}, {.value = 100}));
  };
  const Vars out =
      WhileLoop(small,
                [](const Vars& vars) {
                  return Vars{ops::ElementwiseAdd(vars[0], vars[0])};
                },
                {x});
  EXPECT_EQ(
      Run({{"x", StretchTensor({1}, {3})}}, {out[0]})[0].ToVector<float>(),
      (Floats{192}));
  EXPECT_EQ(
      Run({{"x", StretchTensor({1}, {500})}}, {out[0]})[0].ToVector<float>(),
      (Floats{500}));
  ExpectError(
      ErrorCode::kResourceExhausted, "loop.limit",
      {"10 iterations", "limit = 10"}, [&] {
        Program endless;
        const Var y = endless.Data("y", DType::kFloat32, {1});
        const Vars never = WhileLoop(
            [&](const Vars& vars) {
              return ops::LessThan(
                  vars[0], ops::FillConstant(endless, {1}, {.value = 1}));
            },
            [](const Vars& vars) { return Vars{ops::Relu(vars[0])}; }, {y},
            {.dims = {}, .limit = 10});
        executor_.Run(endless, {{"y", StretchTensor({1}, {0})}}, {never[0]});
      });
}

TEST_F(StretchesTest, TheLargestLimitIsOne) {
  const Var x = program_.Data("x", DType::kFloat32, {1});
  const Vars out = WhileLoop(
      [&](const Vars& vars) {
        return ops::LessThan(vars[0],
                             ops::FillConstant(program_, {1}, {.value = 100}));
      },
      [](const Vars& vars) {
        return Vars{ops::ElementwiseAdd(vars[0], vars[0])};
      },
      {x}, {.dims = {}, .limit = std::numeric_limits<int64_t>::max()});
  EXPECT_EQ(
      Run({{"x", StretchTensor({1}, {3})}}, {out[0]})[0].ToVector<float>(),
      (Floats{192}));
}

TEST_F(StretchesTest, ScansASequence) {
  const Var first = program_.Data("first", DType::kFloat32, {2});
  const Var sequence = program_.Data("sequence", DType::kFloat32, {-1, 2});
  const ScanResult sums = Scan(
      [](const Vars& carried, const Vars& elements) {
        const Var sum = ops::ElementwiseAdd(carried[0], elements[0]);
        return ScanStep{{sum}, {sum, elements[0]}};
      },
      {first}, {sequence});
  const auto results =
      Run({{"first", StretchTensor({2}, {1, 0})},
           {"sequence", StretchTensor({3, 2}, {1, 2, 3, 4, 5, 6})}},
          {sums.carried[0], sums.stacked[0], sums.stacked[1]});
  EXPECT_EQ(results[0].ToVector<float>(), (Floats{10, 12}));
  EXPECT_EQ(results[1].dims(), DDim({3, 2}));
  EXPECT_EQ(results[1].ToVector<float>(), (Floats{2, 2, 5, 6, 10, 12}));
  EXPECT_EQ(results[2].ToVector<float>(), (Floats{1, 2, 3, 4, 5, 6}));
  const auto none = Run({{"first", StretchTensor({2}, {1, 0})},
                         {"sequence", StretchTensor({0, 2}, {})}},
                        {sums.carried[0], sums.stacked[0]});
  EXPECT_EQ(none[0].ToVector<float>(), (Floats{1, 0}));
  EXPECT_EQ(none[1].dims(), DDim({0, 2}));
}

TEST_F(StretchesTest, PruningKeepsTheBlocksThatAreNeeded) {
  const Var x = program_.Data("x", DType::kFloat32, {2});
  const Var flag = program_.Data("flag", DType::kBool, {});
  Cond(
      flag, [&] { return Vars{ops::Tanh(x)}; }, [&] { return Vars{x}; });
  const ScanResult sums = Scan(
      [&](const Vars& carried, const Vars& elements) {
        const Vars kept = Cond(
            flag, [&] { return Vars{ops::ElementwiseAdd(x, x)}; },
            [&] { return carried; });
        return ScanStep{kept, {elements[0]}};
      },
      {x}, {x});
  const Program pruned = Prune(program_, {sums.carried[0].name()});
  EXPECT_EQ(pruned.block().ops.size(), 1u);
  EXPECT_EQ(pruned.blocks().size(), 4u);
  Tensor on;
  on.mutable_data<bool>({}, CPUPlace())[0] = true;
  const auto results =
      executor_.Run(pruned, {{"x", StretchTensor({2}, {1, 2})}, {"flag", on}},
                    {sums.carried[0].name()});
  EXPECT_EQ(results[0].ToVector<float>(), (Floats{2, 4}));
  EXPECT_NO_THROW(ParseProgram(SerializeProgram(pruned), "test"));
}

// Functions that need a single plan raise, and do not inspect a part.
TEST_F(StretchesTest, WhatNeedsOnePlanSaysWhy) {
  const Var x = program_.Data("x", DType::kFloat32, {-1});
  const Var places = ops::Nonzero(x);
  const Var doubled = ops::ElementwiseAdd(places, places);
  const Feeds feeds = {{"x", StretchTensor({2}, {0, 2})}};
  const auto plan = executor_.Prepare(program_, feeds, {doubled});
  ExpectError(ErrorCode::kUnimplemented, "plan.not_whole",
              {"a profile", "op 1 (elementwise_add)", places.name()},
              [&] { RunProfiled(*plan, feeds); });
}

std::vector<std::string> OpsOf(const TuneResult& result) {
  std::vector<std::string> ops;
  for (const TunedSignature& tuned : result.signatures) {
    ops.push_back(tuned.op);
  }
  return ops;
}

// Plans of stretches and of blocks are tuned at their first run.
TEST_F(StretchesTest, EachOfThemIsTuned) {
  const Var x = program_.Data("x", DType::kFloat32, {-1});
  const Var flag = program_.Data("flag", DType::kBool, {});
  const Vars out = Cond(
      flag, [&] { return Vars{ops::Square(x)}; },
      [&] { return Vars{ops::Sigmoid(x)}; });
  const Var places = ops::Nonzero(ops::Tanh(out[0]));
  const Var after = ops::ElementwiseAdd(places, places);
  Tensor on;
  on.mutable_data<bool>({}, CPUPlace())[0] = true;
  const Feeds feeds = {{"x", StretchTensor({2}, {0, 2})}, {"flag", on}};
  const TuneOptions options{.budget_seconds = 5, .again = true};
  const TuneResult result =
      Tune(executor_, program_, feeds, {after}, nullptr, options);
  EXPECT_THAT(OpsOf(result), IsSupersetOf({"square", "tanh"}));
  EXPECT_THAT(OpsOf(result), Not(Contains("sigmoid")));
  EXPECT_FALSE(result.cancelled);
  EXPECT_GT(result.seconds, 0);
}

TEST_F(StretchesTest, TuningEndsWhereItIsToldTo) {
  const Var x = program_.Data("x", DType::kFloat32, {-1});
  const Var places = ops::Nonzero(ops::Square(x));
  const Var doubled = ops::ElementwiseAdd(places, places);
  const Feeds feeds = {{"x", StretchTensor({2}, {0, 2})}};
  TuneOptions options{.budget_seconds = 5, .again = true};
  options.progress = [](int, int, const std::string&) { return false; };
  const TuneResult result =
      Tune(executor_, program_, feeds, {doubled}, nullptr, options);
  EXPECT_TRUE(result.cancelled);
  EXPECT_TRUE(result.signatures.empty());
}

TEST_F(StretchesTest, ExplainShowsEachOfThem) {
  const Var x = program_.Data("x", DType::kFloat32, {-1});
  const Var flag = program_.Data("flag", DType::kBool, {});
  const Vars out = Cond(
      flag, [&] { return Vars{ops::Relu(x)}; },
      [&] {
        return Vars{ops::Concat({x, x}, {.axis = 0})};
      });
  const Var after = ops::Tanh(out[0]);
  Tensor on;
  on.mutable_data<bool>({}, CPUPlace())[0] = true;
  executor_.Run(program_, {{"x", StretchTensor({2}, {1, 2})}, {"flag", on}},
                {after});
  const std::string text = executor_.Explain(program_, {.all = true});
  EXPECT_THAT(text, HasSubstr("== program, stretch 1 =="));
  EXPECT_THAT(text, HasSubstr("== block 1 =="));
  EXPECT_THAT(text, HasSubstr("relu"));
  EXPECT_THAT(text, Not(HasSubstr("concat")));
  EXPECT_THAT(text, HasSubstr("== program, stretch 2 =="));
  EXPECT_THAT(text, HasSubstr("op 0 (if) runs blocks"));
  executor_.Prepare(program_, {{"x", StretchTensor({1}, {1})}, {"flag", on}},
                    {x});
  EXPECT_THAT(executor_.Explain(program_), Not(HasSubstr("stretch 1")));
}

// Plans are prepared once a shape, however often they run.
TEST_F(StretchesTest, PlansAreKept) {
  const Var x = program_.Data("x", DType::kFloat32, {-1});
  const Var doubled = ops::ElementwiseAdd(ops::Nonzero(x), ops::Nonzero(x));
  const auto run = [&](float second) {
    executor_.Run(program_, {{"x", StretchTensor({3}, {1, second, 0})}},
                  {doubled});
  };
  run(0);
  const size_t one = executor_.cached_plans();
  run(0);
  EXPECT_EQ(executor_.cached_plans(), one);
  run(5);
  EXPECT_EQ(executor_.cached_plans(), one + 1);
  run(7);
  run(0);
  EXPECT_EQ(executor_.cached_plans(), one + 1);
}

}  // namespace
}  // namespace sluice
