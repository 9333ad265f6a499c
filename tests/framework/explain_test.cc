#include "sluice/framework/inspect/explain.h"

#include "tests/framework/test_ops.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sluice/framework/executor.h"
#include "sluice/framework/inspect/profile.h"

namespace sluice::framework {
namespace {

using nlohmann::json;
using sluice::testing::Append;
using sluice::testing::Iota;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class ExplainTest : public ::testing::Test {
 protected:
  ExplainTest() {
    sluice::testing::UseTestOps();
    program_.Data("x\"y", DType::kFloat32, {-1, 3});
    sum_ = Append(&program_, "test_add", {{"X", {"x\"y"}}, {"Y", {"x\"y"}}}, {},
                  "prefer variant=plain");
    end_ = Append(&program_, "manhattan_distance",
                  {{"X", {sum_}}, {"Y", {"x\"y"}}}, {}, "require place=fpga:0");
    Append(&program_, "test_divide", {{"X", {"x\"y"}}});
    plan_ = executor_.Prepare(program_, {{"x\"y", Iota({2, 3})}}, {end_});
  }

  Program program_;
  std::string sum_, end_;
  Executor executor_;
  std::shared_ptr<const Plan> plan_;
};

TEST_F(ExplainTest, TextHasATableOfDecisions) {
  const std::string text = ExplainText(*plan_);
  EXPECT_THAT(text, HasSubstr("plan at cpu with "));
  EXPECT_THAT(text, ContainsRegex("op +place +dtype +layout +library +variant "
                                  "+predicted +reason"));
  EXPECT_THAT(text, ContainsRegex("0 test_add +cpu +float32 +any +PLAIN +plain "
                                  "+[0-9.]+ us estimated +hint: prefer "
                                  "variant=plain"));
  EXPECT_THAT(text, ContainsRegex("1 manhattan_distance +fpga:0 +float32"));
  EXPECT_THAT(text, HasSubstr("op 2 (test_divide) does not run"));
}

TEST_F(ExplainTest, TextHasEveryTransferWithItsBytes) {
  const std::string table = TransferTable(*plan_);
  EXPECT_THAT(table, ContainsRegex("test_add_1.Out +cpu +fpga:0 +24 +1 "
                                   "manhattan_distance"));
  EXPECT_THAT(table, ContainsRegex("fpga:0 +cpu +16 +fetch"));
  EXPECT_THAT(table, HasSubstr("64 bytes in all"));
  Executor executor;
  const auto without =
      executor.Prepare(program_, {{"x\"y", Iota({2, 3})}}, {sum_});
  EXPECT_EQ(TransferTable(*without), "no value moves between places\n");
}

TEST_F(ExplainTest, TextHasEveryRefusal) {
  const std::string text = ExplainText(*plan_);
  EXPECT_THAT(text, HasSubstr("needs 100 elements, got 6"));
  EXPECT_THAT(text,
              ContainsRegex("not test_add/wrong .*us estimated, 1.00 of "));
  EXPECT_THAT(text, HasSubstr("excluded by hint: require place=fpga:0 (op "
                              "attribute)"));
}

TEST_F(ExplainTest, KernelsOfDevicesThatNobodyAskedForAreListed) {
  KernelDef kernel;
  kernel.op = "test_add";
  kernel.variant = "late";
  kernel.key.place = platform::PlaceKind::kCUDA;
  kernel.key.dtype = plan_->decisions()[0].list->expected.dtype;
  kernel.make = [](const OpKernelConstruction&) {
    return std::unique_ptr<OpKernel>();
  };
  Registry::Global().AddKernel(kernel);
  EXPECT_THAT(ExplainText(*plan_),
              ContainsRegex("0 test_add: not test_add/late .*: neither the "
                            "executor nor a hint asks for cuda"));
  const json plan = json::parse(ExplainJson(*plan_));
  const json& last = plan["ops"][0]["candidates"].back();
  EXPECT_THAT(last["kernel"].get<std::string>(), HasSubstr("test_add/late"));
  EXPECT_EQ(last["chosen"], false);
}

TEST_F(ExplainTest, TextHasTimesOfAProfile) {
  EXPECT_THAT(DecisionTable(*plan_), Not(HasSubstr("time")));
  RunProfile profile;
  profile.seconds.assign(plan_->instructions().size(), 0.0);
  for (size_t i = 0; i < profile.seconds.size(); ++i) {
    if (plan_->instructions()[i].op_index == 0) profile.seconds[i] = 123e-6;
  }
  EXPECT_THAT(DecisionTable(*plan_, &profile),
              ContainsRegex("0 test_add .*123.0 us"));
}

TEST_F(ExplainTest, MemoryTableHasEveryPlace) {
  EXPECT_THAT(MemoryTable(), ContainsRegex("cpu +[0-9]+ +[0-9]+"));
  EXPECT_THAT(MemoryTable(), HasSubstr("fpga:0"));
}

TEST_F(ExplainTest, JsonSaysTheSame) {
  const json plan = json::parse(ExplainJson(*plan_));
  EXPECT_EQ(plan["place"], "cpu");
  EXPECT_EQ(plan["threads"], plan_->num_threads());
  ASSERT_EQ(plan["ops"].size(), 2u);
  const json& first = plan["ops"][0];
  EXPECT_EQ(first["op"], "test_add");
  EXPECT_EQ(first["index"], 0);
  EXPECT_EQ(first["variant"], "plain");
  EXPECT_EQ(first["candidates"].size(),
            plan_->decisions()[0].candidates().size() +
                KernelsElsewhere(plan_->decisions()[0]).size());
  int chosen = 0;
  for (const json& candidate : first["candidates"]) {
    if (candidate["chosen"]) ++chosen;
    EXPECT_EQ(candidate.contains("predicted_seconds"),
              candidate["refusal"] == "");
  }
  for (const json& candidate : first["candidates"]) {
    if (!candidate["chosen"]) continue;
    EXPECT_GT(candidate["predicted_seconds"], 0.0);
    EXPECT_EQ(candidate["evidence"], "estimated");
  }
  EXPECT_EQ(chosen, 1);
  EXPECT_EQ(plan["ops"][1]["place"], "fpga:0");
  EXPECT_EQ(plan["transfers"].size(), 3u);
  EXPECT_EQ(plan["transfers"][0]["bytes"], 24);
  EXPECT_EQ(plan["arenas"]["cpu"], plan_->arenas()[0].second);
  EXPECT_FALSE(plan["ops"][0].contains("seconds"));
}

TEST_F(ExplainTest, JsonHasTheSecondsOfAProfile) {
  RunProfile profile;
  profile.seconds.assign(plan_->instructions().size(), 0.5);
  const json plan = json::parse(ExplainJson(*plan_, &profile));
  EXPECT_EQ(plan["ops"][0]["seconds"], 0.5);
}

TEST_F(ExplainTest, DotIsAGraphOfOpsAndTransfers) {
  const std::string dot = ExplainDot(*plan_);
  EXPECT_THAT(dot, HasSubstr("digraph plan {"));
  EXPECT_THAT(dot, HasSubstr("\"x\\\"y\" [shape=ellipse]"));
  EXPECT_THAT(dot, HasSubstr("\"op0\" [label=\"test_add cpu/plain\"]"));
  EXPECT_THAT(dot, HasSubstr("\"op0\" -> \"op1\" [label=\"test_add_1.Out (24 "
                             "bytes to fpga:0)\", style=dashed]"));
  EXPECT_EQ(dot.back(), '\n');
  EXPECT_EQ(dot[dot.size() - 2], '}');
}

}  // namespace
}  // namespace sluice::framework
