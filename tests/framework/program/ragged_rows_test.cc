#include "sluice/framework/program/ragged_rows.h"

#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/program/control_flow.h"
#include "sluice/framework/program/program_io.h"
#include "sluice/framework/program/prune.h"
#include "sluice/framework/run/executor.h"
#include "sluice/framework/run/ragged_feeds.h"

namespace sluice {
namespace {

using testing::ExpectError;
using Floats = std::vector<float>;
using Int64s = std::vector<int64_t>;

Var Append(Program& program,
           const char* type,
           Program::ArgList inputs,
           AttributeMap attributes = {}) {
  program.AppendOp(type, std::move(inputs), std::move(attributes));
  return program.Output("Out");
}

TEST(RaggedRows, PassFromOpToOp) {
  Program program;
  const Var x = program.RaggedData("x", DType::kFloat32, {-1, 2});
  EXPECT_EQ(x.offsets().name(), "x@LOD");
  const Var y = Append(program, "relu", {{"X", {"x"}}});
  EXPECT_EQ(y.offsets().name(), "x@LOD");
  const Var pooled = Append(program, "sequence_pool", {{"X", {y.name()}}});
  EXPECT_FALSE(pooled.offsets().valid());
}

TEST(RaggedRows, HaveALevelLessWhenPooled) {
  Program program;
  program.RaggedData("x", DType::kFloat32, {-1, 2}, 2);
  const Var pooled = Append(program, "sequence_pool", {{"X", {"x"}}});
  EXPECT_EQ(pooled.offsets().name(), "x@LOD@LOD");
}

TEST(RaggedRows, AreRefusedByOpsThatMixThem) {
  Program program;
  program.RaggedData("x", DType::kFloat32, {-1, 2});
  const size_t ops = program.block().ops.size();
  ExpectError(ErrorCode::kInvalidArgument, "program.ragged_input",
              {"mean", "input X, x", "x@LOD", "sequence_pool"}, [&] {
                Append(program, "mean", {{"X", {"x"}}});
              });
  EXPECT_EQ(program.block().ops.size(), ops);
}

TEST(RaggedRows, OfComputedOffsetsDoNotMeet) {
  Program program;
  program.RaggedData("x", DType::kInt64, {-1, 1});
  const Var erased = Append(program, "sequence_erase", {{"X", {"x"}}},
                            {{"tokens", Int64s{1}}});
  ExpectError(ErrorCode::kInvalidArgument, "program.ragged_offsets",
              {"elementwise_add", "lod_reset"}, [&] {
                Append(program, "elementwise_add",
                       {{"X", {"x"}}, {"Y", {erased.name()}}});
              });
}

// Returns how an op would take the rows of its ragged inputs.
std::vector<RowUse> UsesOf(Program& program,
                           const char* type,
                           Program::ArgList inputs) {
  OpDesc op;
  op.type = type;
  op.inputs = std::move(inputs);
  std::vector<RowUse> uses;
  for (const RaggedInput& input : program.RaggedInputs(std::move(op))) {
    uses.push_back(input.use);
  }
  return uses;
}

TEST(RaggedRows, AreKeptMixedOrGivenAsAnOpSaysBeforeItIsAdded) {
  using Uses = std::vector<RowUse>;
  Program program;
  program.RaggedData("x", DType::kInt64, {-1, 1});
  program.RaggedData("y", DType::kFloat32, {-1, 1});
  const Var erased = Append(program, "sequence_erase", {{"X", {"x"}}},
                            {{"tokens", Int64s{1}}});
  const std::string text = ToString(program);
  EXPECT_EQ(UsesOf(program, "assign", {{"X", {"x"}}}), Uses{RowUse::kKept});
  EXPECT_EQ(UsesOf(program, "mean", {{"X", {"y"}}}), Uses{RowUse::kMixed});
  EXPECT_EQ(UsesOf(program, "sequence_pool", {{"X", {"x"}}}),
            Uses{RowUse::kGiven});
  const Uses mixed = {RowUse::kMixed, RowUse::kMixed};
  EXPECT_EQ(UsesOf(program, "elementwise_add",
                   {{"X", {"x"}}, {"Y", {erased.name()}}}),
            mixed);
  EXPECT_EQ(UsesOf(program, "assign", {{"X", {"x@LOD"}}}), Uses{});
  EXPECT_EQ(ToString(program), text);
  EXPECT_EQ(Append(program, "assign", {{"X", {"x"}}}).name(), "assign_1.Out");
}

TEST(RaggedRows, NeedAnOpenDim) {
  Program program;
  ExpectError(ErrorCode::kInvalidArgument, "program.ragged_data", {"[3, 2]"},
              [&] {
                program.RaggedData("x", DType::kFloat32, {3, 2});
              });
}

TEST(RaggedRows, AreKeptInFilesAndPrunedPrograms) {
  Program program;
  program.RaggedData("x", DType::kFloat32, {-1, 2}, 2);
  const Var y = Append(program, "relu", {{"X", {"x"}}});
  const Program loaded = ParseProgram(SerializeProgram(program), "a test");
  const Program pruned = Prune(program, {y.name()});
  for (const Program* copy : {&loaded, &pruned}) {
    EXPECT_EQ(copy->FindVar("x").offsets, "x@LOD");
    EXPECT_EQ(copy->FindVar("x@LOD").offsets, "x@LOD@LOD");
    EXPECT_EQ(copy->FindVar(y.name()).offsets, "x@LOD");
  }
}

TEST(RaggedRows, StayRaggedInConditionsAndLoops) {
  Program program;
  const Var x = program.RaggedData("x", DType::kFloat32, {-1, 1});
  const Var flag = program.Data("flag", DType::kBool, {1});
  const auto twice = [&](const Vars& rows) {
    return Vars{
        Append(program, "scale", {{"X", {rows[0].name()}}}, {{"scale", 2.0}})};
  };
  const Vars chosen = Cond(
      flag, [&] { return twice({x}); }, [&] { return Vars{x}; });
  EXPECT_EQ(chosen[0].offsets().name(), "x@LOD");
  const Vars grown =
      WhileLoop([&](const Vars& /*rows*/) { return flag; }, twice, chosen);
  const Program pruned = Prune(program, {grown[0].name()});
  for (const Program* copy : {static_cast<const Program*>(&program), &pruned}) {
    EXPECT_EQ(copy->FindVar(grown[0].name()).offsets, "x@LOD");
  }
  ExpectError(ErrorCode::kInvalidArgument, "loop.ragged_sequence",
              {"sequence x is ragged", "sequence_scan"}, [&] {
                Scan(
                    [](const Vars& carried, const Vars& /*rows*/) {
                      return ScanStep{carried, {}};
                    },
                    {flag}, {x});
              });
}

Tensor Sequence(const Floats& values) {
  return Tensor::FromVector<float>({static_cast<int64_t>(values.size()), 1},
                                   values);
}

TEST(RaggedFeeds, ArePackedPaddedAndUnpacked) {
  const Feeds feeds =
      PackSequences("x", {Sequence({1, 2}), Sequence({}), Sequence({3})});
  const Tensor& rows = feeds[0].second;
  const Tensor& offsets = feeds[1].second;
  EXPECT_EQ(rows.dims(), DDim({16, 1}));
  EXPECT_EQ(rows.ToVector<float>()[15], 3);
  EXPECT_EQ(offsets.ToVector<int64_t>(), (Int64s{0, 2, 2, 3}));
  const auto sequences = UnpackSequences(rows, offsets);
  ASSERT_EQ(sequences.size(), 3U);
  EXPECT_EQ(sequences[0].ToVector<float>(), (Floats{1, 2}));
  ExpectError(ErrorCode::kInvalidArgument, "ragged.sequence", {"number 1"}, [] {
    PackSequences("x",
                  {Sequence({1}), Tensor::FromVector<float>({1, 2}, {1, 2})});
  });
}

TEST(RaggedFeeds, RunWithFewPlansAndCheckedOffsets) {
  Program program;
  program.RaggedData("x", DType::kFloat32, {-1, 1});
  const Var sum = Append(program, "sequence_pool", {{"X", {"x"}}},
                         {{"pooltype", std::string("SUM")}});
  Executor executor;
  for (size_t length = 1; length <= 40; ++length) {
    const auto got = executor.Run(
        program, PackSequences("x", {Sequence(Floats(length, 1))}), {sum});
    EXPECT_EQ(got[0].ToVector<float>()[0], static_cast<float>(length));
  }
  EXPECT_EQ(executor.cached_plans(), 6U);  // 16, 20, 25, 31, 38, 47
  Feeds feeds = PackSequences("x", {Sequence({1, 2})});
  for (const auto& [offsets, check] :
       std::vector<std::pair<Int64s, const char*>>{
           {{1, 2}, "ragged.offsets_start"},
           {{0, 2, 1}, "ragged.offsets_fall"},
           {{0, 17}, "ragged.offsets_end"}}) {
    feeds[1].second = Tensor::FromVector<int64_t>(
        {static_cast<int64_t>(offsets.size())}, offsets);
    ExpectError(ErrorCode::kInvalidArgument, check, {"x"},
                [&] { executor.Run(program, feeds, {sum}); });
  }
}

}  // namespace
}  // namespace sluice
