#include "sluice/framework/inspect/explain_table.h"

#include "tests/framework/test_ops.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/lines_of.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sluice/framework/run/executor.h"

namespace sluice {
namespace {

using nlohmann::json;
using sluice::testing::Append;
using sluice::testing::ExpectError;
using sluice::testing::Iota;
using sluice::testing::LinesOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class ExplainTableTest : public ::testing::Test {
 protected:
  ExplainTableTest() {
    sluice::testing::UseTestOps();
    program_.Data("x", DType::kFloat32, {-1, 3});
  }

  // A chain of additions with different hints, so that rows differ.
  std::string Chain(int length) {
    std::string var = "x";
    for (int i = 0; i < length; ++i) {
      var = Append(&program_, "test_add", {{"X", {var}}, {"Y", {"x"}}});
    }
    return var;
  }

  std::shared_ptr<const Plan> Prepare(const std::string& fetched) {
    return executor_.Prepare(program_, {{"x", Iota({2, 3})}}, {fetched});
  }

  Program program_;
  Executor executor_;
};

TEST_F(ExplainTableTest, TheFirstLineSaysWhatIsFedAndWhere) {
  const std::string text = Explain(*Prepare(Chain(2)));
  EXPECT_THAT(LinesOf(text)[0],
              ContainsRegex("^program, cpu, [0-9]+ threads?; fed x .2, 3.$"));
  EXPECT_THAT(LinesOf(text)[1], HasSubstr("2 ops in 2 calls; each predicted "
                                          "below 1 us: too short to compare"));
}

TEST_F(ExplainTableTest, ARowHasTheKernelTheNextBestAndTheReason) {
  const std::string end =
      Append(&program_, "test_add", {{"X", {"x"}}, {"Y", {"x"}}}, {},
             "prefer variant=plain");
  EXPECT_THAT(Explain(*Prepare(end)),
              ContainsRegex("0 +test_add +plain .*hint prefers variant=plain"));
}

TEST_F(ExplainTableTest, CallsThatHintsDecideAreCountedApart) {
  const std::string timed = Chain(2);
  EXPECT_THAT(Explain(*Prepare(timed)), Not(HasSubstr("by hint")));
  std::string end = timed;
  for (const char* hint : {"prefer variant=plain", "require variant=plain",
                           "exclude variant=wrong"}) {
    end = Append(&program_, "test_add", {{"X", {end}}, {"Y", {"x"}}}, {}, hint);
  }
  const auto plan = Prepare(end);
  EXPECT_THAT(LinesOf(Explain(*plan))[1],
              HasSubstr("5 ops in 5 calls, 3 chosen by hint"));
  const json ops = json::parse(ExplainJson(*plan))["ops"];
  EXPECT_EQ(ops[0]["decided_by"], "estimated");
  EXPECT_EQ(ops[2]["decided_by"], "hint");
}

TEST_F(ExplainTableTest, CopiesAndPlacesHaveColumnsOnlyIfThereAreAny) {
  const std::string sum = Chain(1);
  EXPECT_THAT(Explain(*Prepare(sum)), Not(HasSubstr("place")));
  const std::string end =
      Append(&program_, "manhattan_distance", {{"X", {sum}}, {"Y", {"x"}}}, {},
             "require place=fpga:0");
  const std::string text = Explain(*Prepare(end));
  EXPECT_THAT(text, ContainsRegex("# +op +kernel +place"));
  EXPECT_THAT(text, ContainsRegex("1 +manhattan_distance .*fpga:0 .*48 B +hint "
                                  "requires place=fpga:0"));
  EXPECT_THAT(text, HasSubstr("moved: 64 B in 3 copies: fed 24 B, between ops "
                              "24 B, fetched 16 B"));
}

TEST_F(ExplainTableTest, NoLineIsWiderThanAsked) {
  std::string end = Chain(1);
  end = Append(&program_, "manhattan_distance", {{"X", {end}}, {"Y", {"x"}}},
               {}, "require place=fpga:0");
  const auto plan = Prepare(end);
  for (const int width : {40, 60, 80, 100, 124}) {
    for (const std::string& line : LinesOf(Explain(*plan, {.width = width}))) {
      EXPECT_LE(line.size(), static_cast<size_t>(width));
    }
  }
  ExpectError(ErrorCode::kInvalidArgument, "explain.width", {"39"},
              [&] { Explain(*plan, {.width = 39}); });
}

TEST_F(ExplainTableTest, AlikeNeighboursShareARow) {
  const auto plan = Prepare(Chain(500));
  const std::string text = Explain(*plan);
  EXPECT_THAT(text, HasSubstr("test_add x500"));
  EXPECT_LT(LinesOf(text).size(), 12);
  ExplainOptions options;
  options.fold = false;
  EXPECT_GT(LinesOf(Explain(*plan, options)).size(), 500);
}

// Calls of two kinds by turns, and one at the end.
TEST_F(ExplainTableTest, RepetitionsAreCounted) {
  std::string var = "x";
  for (int i = 0; i < 50; ++i) {
    var = Append(&program_, "test_add", {{"X", {var}}, {"Y", {"x"}}});
    var = Append(&program_, "test_divide", {{"X", {var}}});
  }
  const auto plan = Prepare(var);
  const std::string text = Explain(*plan);
  EXPECT_THAT(text, HasSubstr("... these 2 calls 49 times more, to 99"));
  const auto calls = CallsOf(*plan);
  double seconds = 0;
  for (const PlanCall& call : calls) {
    seconds += call.seconds();
  }
  size_t folded = 0;
  for (const CallGroup& group : FoldCalls(calls, seconds)) {
    folded += group.calls.size();
  }
  EXPECT_EQ(folded, calls.size()) << "every call is in one group";
}

TEST_F(ExplainTableTest, TheCallsOfALayerAreOneRowOfALongTable) {
  ExplainOptions options;
  const auto plan = Prepare(Chain(40));
  const auto calls = CallsOf(*plan);
  for (int op = 4; op < 9; ++op) {
    options.layers[calls[op].desc->outputs[0].second[0]] = {"dynamic_lstm", 7};
  }
  EXPECT_THAT(Explain(*plan, options),
              ContainsRegex("\n *4 +dynamic_lstm +5 calls .* most: #"));
  options.fold = false;
  EXPECT_THAT(Explain(*plan, options), Not(HasSubstr("dynamic_lstm")));
}

TEST_F(ExplainTableTest, OneOpHasItsCandidatesWithHints) {
  ExplainOptions options;
  options.op = 0;
  const std::string text = Explain(*Prepare(Chain(1)), options);
  EXPECT_THAT(text, HasSubstr("op 0 test_add: "));
  EXPECT_THAT(text, HasSubstr("float32 [2, 3]"));
  EXPECT_THAT(text, ContainsRegex("#0: prefer .*variant="));
  EXPECT_THAT(text, HasSubstr("kernels that do not fit"));
  EXPECT_THAT(text, HasSubstr("needs 100 elements, got 6"));
  EXPECT_THAT(text, ContainsRegex("[0-9]+ kernels? of other dtypes"));
  options.op = 7;
  ExpectError(ErrorCode::kNotFound, "explain.op", {"op 7", "not in this plan"},
              [&] { Explain(*Prepare(Chain(1)), options); });
}

TEST_F(ExplainTableTest, AHintWithoutEffectIsNumbered) {
  const KernelHintGuard guard(
      "#0: prefer variant=picky; @nothing: prefer place=cpu");
  const std::string text = Explain(*Prepare(Chain(1)));
  EXPECT_THAT(text, ContainsRegex("0 +test_add .*hint not obeyed .1."));
  EXPECT_THAT(text, ContainsRegex("\n.1. hint .*is not obeyed"));
  EXPECT_THAT(text, ContainsRegex("\n.2. hint .*names no op of this plan"));
}

TEST_F(ExplainTableTest, ColoursOnlyAdd) {
  const auto plan = Prepare(Chain(3));
  ExplainOptions options;
  const std::string plain = Explain(*plan, options);
  options.colour = true;
  std::string coloured = Explain(*plan, options);
  EXPECT_NE(coloured, plain);
  for (size_t at; (at = coloured.find('\033')) != std::string::npos;) {
    coloured.erase(at, coloured.find('m', at) - at + 1);
  }
  EXPECT_EQ(coloured, plain);
}

TEST_F(ExplainTableTest, JsonHasTheRowsAndEveryCall) {
  const json table = json::parse(ExplainTableJson(*Prepare(Chain(30))));
  EXPECT_EQ(table["calls"].size(), 30);
  EXPECT_LT(table["rows"].size(), 30);
  EXPECT_EQ(table["rows"][0]["cells"].size(), table["columns"].size());
  EXPECT_EQ(table["calls"][0]["name"], "test_add");
  EXPECT_EQ(table["calls"][0]["purpose"], "forward");
  EXPECT_GT(table["calls"][0]["seconds"], 0);
}

TEST_F(ExplainTableTest, AWideTableHasBars) {
  const auto plan =
      executor_.Prepare(program_, {{"x", Iota({1 << 18, 3})}}, {Chain(2)});
  EXPECT_THAT(Explain(*plan, {.width = 120}), HasSubstr("  ############  "));
  EXPECT_THAT(Explain(*plan), Not(HasSubstr("##")));
}

TEST(KernelName, NamesTheLibraryAndThePlaceOnlyWhereTheySaySomething) {
  KernelDef kernel;
  kernel.key.library = "PLAIN";
  kernel.variant = "winograd_4x4";
  EXPECT_EQ(KernelName(kernel, CPUPlace()), "winograd_4x4");
  kernel.key.library = "ONEDNN";
  kernel.variant = "direct";
  EXPECT_EQ(KernelName(kernel, CPUPlace()), "onednn/direct");
  EXPECT_EQ(KernelName(kernel, CUDAPlace(0)), "onednn/direct at cuda:0");
  EXPECT_EQ(KernelName(kernel, CPUPlace(), CUDAPlace(0)),
            "onednn/direct at cpu");
}

// The hint that Explain shows was tried: with it, the op has that kernel.
TEST_F(ExplainTableTest, TheHintForAnotherKernelGivesIt) {
  const std::string end = Chain(1);
  const auto before = Prepare(end);
  const std::string text = executor_.Explain(program_);
  const std::string opening = "KernelHintGuard guard(\"";
  const size_t start = text.find(opening);
  ASSERT_NE(start, std::string::npos) << text;
  const size_t begin = start + opening.size();
  const KernelHintGuard guard(
      text.substr(begin, text.find('"', begin) - begin));
  const auto after = Prepare(end);
  EXPECT_NE(after->decisions()[0].kernel, before->decisions()[0].kernel);
  EXPECT_EQ(after->decisions()[0].kernel, CallsOf(*before)[0].next->kernel);
  // It would not be true for a plan that was prepared with other hints.
  EXPECT_THAT(executor_.Explain(program_), HasSubstr("KernelHintGuard"));
}

}  // namespace
}  // namespace sluice
