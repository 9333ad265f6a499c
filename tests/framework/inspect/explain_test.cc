#include "sluice/framework/inspect/explain.h"

#include <algorithm>
#include <cmath>

#include "tests/framework/test_ops.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sluice/framework/costs/machine.h"
#include "sluice/framework/run/executor.h"
#include "sluice/laboratory/measure/profile.h"
#include "sluice/laboratory/records/record_store.h"

namespace sluice {
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

TEST_F(ExplainTest, TheWholeTextHasTheNamesOfTheTable) {
  const std::string text = ExplainText(*plan_);
  EXPECT_THAT(text, ContainsRegex("\n0 +test_add +plain .*hint prefers "
                                  "variant=plain"));
  EXPECT_THAT(text, ContainsRegex("\n1 +manhattan_distance .*fpga:0"));
  EXPECT_THAT(text, HasSubstr("op 2 (test_divide) does not run"));
  EXPECT_THAT(text, HasSubstr("test_add_1.Out: cpu -> fpga:0, 24 B, for #1"));
  EXPECT_THAT(text, HasSubstr("fpga:0 -> cpu, 16 B, for the fetch"));
  EXPECT_THAT(text, Not(HasSubstr("one op in full: ")));
}

TEST_F(ExplainTest, TheWholeTextHasEveryRefusal) {
  const std::string text = ExplainText(*plan_);
  EXPECT_THAT(text, HasSubstr("needs 100 elements, got 6"));
  EXPECT_THAT(text, ContainsRegex("\n +<1 us wrong +#0: prefer variant=wrong"));
  EXPECT_THAT(text, HasSubstr("excluded by hint: require place=fpga:0 (op "
                              "attribute)"));
}

TEST_F(ExplainTest, KernelsOfDevicesThatNobodyAskedForAreListed) {
  KernelDef kernel;
  kernel.op = "test_add";
  kernel.variant = "late";
  kernel.key.place = PlaceKind::kCUDA;
  kernel.key.dtype = plan_->decisions()[0].list->expected.dtype;
  kernel.make = [](const OpKernelConstruction&) {
    return std::unique_ptr<OpKernel>();
  };
  Registry::Global().AddKernel(kernel);
  EXPECT_THAT(ExplainText(*plan_), HasSubstr("others: late at cuda; "));
  const json plan = json::parse(ExplainJson(*plan_));
  const json& last = plan["ops"][0]["candidates"].back();
  EXPECT_THAT(last["kernel"].get<std::string>(), HasSubstr("test_add/late"));
  EXPECT_EQ(last["chosen"], false);
}

TEST(PredictionTextTest, HasAUnitThatFits) {
  for (const auto& [seconds, text] : {std::pair(1.234e-7, "0.123 us measured"),
                                      {1.234e-5, "12.3 us measured"},
                                      {9.994e-4, "999 us measured"},
                                      {9.996e-4, "1 ms measured"},
                                      {1.57e-2, "15.7 ms measured"},
                                      {1.5, "1.5 s measured"},
                                      {2345.6, "2346 s measured"}}) {
    EXPECT_EQ(PredictionText(seconds, Evidence::kRecord), text);
  }
}

TEST(PredictionTextTest, EstimatesHaveTwoDigits) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const auto& [seconds, text] : {std::pair(0.0, "0 us estimated"),
                                      {7.654e-8, "0.077 us estimated"},
                                      {1.254e-5, "13 us estimated"},
                                      {9.996e-6, "10 us estimated"},
                                      {1.234e-4, "120 us estimated"},
                                      {9.96e-4, "1 ms estimated"},
                                      {2345.6, "2300 s estimated"},
                                      {infinity, "inf s estimated"}}) {
    EXPECT_EQ(PredictionText(seconds, Evidence::kEstimate), text);
  }
  EXPECT_EQ(PredictionText(1.254e-5, Evidence::kNearby),
            "12.5 us measured nearby");
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

TEST_F(ExplainTest, JsonHasValuesAndWhereTheirMemoryIs) {
  const json plan = json::parse(ExplainJson(*plan_));
  const json& second = plan["ops"][1];
  ASSERT_EQ(second["inputs"].size(), 2u);
  const json& x = second["inputs"][0];
  EXPECT_EQ(x["argument"], "X");
  EXPECT_EQ(x["var"], sum_);
  EXPECT_EQ(x["dtype"], "float32");
  EXPECT_EQ(x["shape"], json({2, 3}));
  // The op reads the copy at its place.
  const json& copy = plan["slots"][x["slot"].get<int>()];
  EXPECT_EQ(copy["var"], sum_);
  EXPECT_EQ(copy["place"], "fpga:0");
  EXPECT_EQ(copy["bytes"], 24);
  EXPECT_EQ(copy["kind"], "arena");
  EXPECT_LE(copy["first"], copy["last"]);
  EXPECT_EQ(plan["slots"].size(), plan_->slots().size());
  EXPECT_EQ(plan["feeds"][0]["var"], "x\"y");
  EXPECT_EQ(plan["feeds"][0]["shape"], json({2, 3}));
  EXPECT_EQ(plan["fetches"], json({end_}));
  ASSERT_EQ(plan["instructions"].size(), plan_->instructions().size());
  const int moved = plan["transfers"][0]["instruction"];
  EXPECT_EQ(plan["instructions"][moved]["kind"], "copy");
  EXPECT_EQ(plan["instructions"][moved]["op_index"], 1);
}

TEST_F(ExplainTest, JsonSaysWhatAnOpIsThereFor) {
  const json plan = json::parse(ExplainJson(*plan_));
  const json& first = plan["ops"][0];
  EXPECT_EQ(first["covers"], json::array({0}));
  EXPECT_EQ(first["purpose"], "forward");
  EXPECT_THAT(first["line"], ContainsRegex("test_ops.cc:[0-9]+$"));
}

TEST_F(ExplainTest, JsonHasTheWorkOfEachPossibleKernelAndTheMargin) {
  const json plan = json::parse(ExplainJson(*plan_));
  const json& first = plan["ops"][0];
  const double chosen = first["predicted_seconds"];
  double next = INFINITY;
  for (const json& candidate : first["candidates"]) {
    EXPECT_EQ(candidate.contains("work"), candidate["refusal"] == "");
    if (candidate["refusal"] != "" || candidate["chosen"]) continue;
    next = std::min(next, candidate["predicted_seconds"].get<double>());
  }
  for (const json& candidate : first["candidates"]) {
    if (!candidate["chosen"]) continue;
    EXPECT_EQ(candidate["predicted_seconds"], chosen);
    EXPECT_EQ(candidate["work"]["flops"], 6);
    EXPECT_EQ(candidate["work"]["bytes"], 3 * 24);
  }
  ASSERT_TRUE(std::isfinite(next));
  EXPECT_DOUBLE_EQ(first["margin"], next / chosen);
  EXPECT_FALSE(plan["ops"][1].contains("margin")) << "it has one kernel";
}

TEST_F(ExplainTest, JsonHasWhatWasMeasured) {
  program_.Data("z", DType::kFloat32, {5, 7});
  const std::string out =
      Append(&program_, "test_add", {{"X", {"z"}}, {"Y", {"z"}}});
  const Feeds feeds = {{"z", Iota({5, 7})}};
  const auto before = executor_.Prepare(program_, feeds, {out});
  const Decision& decision = before->decisions()[0];
  const auto record = [&](size_t candidate) {
    Record one;
    one.op = "test_add";
    one.signature = decision.list->signature;
    one.kernel = ToString(*decision.candidates()[candidate].kernel);
    one.kernel_version =
        decision.candidates()[candidate].kernel->recorded_version;
    one.threads = before->num_threads();
    one.place = ToString(decision.candidates()[candidate].place);
    one.machine = MachineId().text;
    return one;
  };
  size_t wrong = 0;
  size_t right = 0;
  for (size_t i = 0; i < decision.candidates().size(); ++i) {
    const KernelDef& kernel = *decision.candidates()[i].kernel;
    if (kernel.key.dtype != DType::kFloat32) continue;
    if (kernel.variant == "plain") right = i;
    if (kernel.variant == "wrong") wrong = i;
  }
  Record timed = record(right);
  timed.best = 1e-6;
  timed.low = 2e-6;
  timed.median = 3e-6;
  timed.high = 4e-6;
  timed.spread = 0.1;
  timed.rounds = 9;
  timed.error = 0.5;
  timed.verdict = Verdict::kOk;
  Record bad = record(wrong);
  bad.error = INFINITY;
  bad.verdict = Verdict::kWrong;
  bad.message = "Out[1] is 3";
  RecordStore::Default().Add({timed, bad});
  Executor executor;
  const auto made = executor.Prepare(program_, feeds, {out});
  const json plan = json::parse(ExplainJson(*made));
  const json& candidates = plan["ops"][0]["candidates"];
  ASSERT_TRUE(candidates[right].contains("measured"));
  ASSERT_TRUE(candidates[wrong].contains("measured"));
  EXPECT_EQ(candidates[right]["measured"]["median"], 3e-6);
  EXPECT_EQ(candidates[right]["measured"]["low"], 2e-6);
  EXPECT_EQ(candidates[right]["measured"]["high"], 4e-6);
  EXPECT_EQ(candidates[right]["measured"]["rounds"], 9);
  EXPECT_EQ(candidates[right]["measured"]["error"], 0.5);
  EXPECT_EQ(candidates[right]["measured"]["verdict"], "ok");
  EXPECT_EQ(candidates[right]["evidence"], "measured");
  EXPECT_EQ(candidates[wrong]["measured"]["verdict"], "wrong");
  EXPECT_EQ(candidates[wrong]["measured"]["message"], "Out[1] is 3");
  EXPECT_TRUE(candidates[wrong]["measured"]["error"].is_null());
  EXPECT_FALSE(candidates[wrong]["measured"].contains("median"));
}

TEST_F(ExplainTest, JsonBySignatureHasEachListOnce) {
  const std::string again =
      Append(&program_, "test_add", {{"X", {"x\"y"}}, {"Y", {"x\"y"}}});
  const std::string third =
      Append(&program_, "test_add", {{"X", {"x\"y"}}, {"Y", {"x\"y"}}});
  const auto made = executor_.Prepare(program_, {{"x\"y", Iota({2, 3})}},
                                      {end_, again, third});
  ExplainJsonOptions options;
  options.by_signature = true;
  const json shared = json::parse(ExplainJson(*made, options));
  const json nested = json::parse(ExplainJson(*made));
  ASSERT_EQ(shared["ops"].size(), 4u);
  EXPECT_EQ(shared["candidate_lists"].size(), 3u) << "one op has a hint";
  EXPECT_EQ(shared["ops"][2]["candidate_list"],
            shared["ops"][3]["candidate_list"]);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_FALSE(shared["ops"][i].contains("candidates"));
    const json& list = shared["candidate_lists"]
                             [shared["ops"][i]["candidate_list"].get<size_t>()];
    EXPECT_EQ(list["signature"], nested["ops"][i]["signature"]);
    for (size_t k = 0; k < list["candidates"].size(); ++k) {
      json other = nested["ops"][i]["candidates"][k];
      EXPECT_EQ(k == shared["ops"][i]["chosen"], other["chosen"]);
      other.erase("chosen");
      other.erase("transfer_bytes");
      EXPECT_EQ(list["candidates"][k], other);
    }
  }
  EXPECT_EQ(shared["ops"][1]["transfer_bytes"]["fpga:0"], 48);
}

TEST_F(ExplainTest, JsonHasTheTimesOfAProfile) {
  RunProfile profile;
  profile.instructions.assign(plan_->instructions().size(), {0.5, 0.25, 1});
  profile.ops.assign(plan_->op_descs().size(), {2, 1, 4});
  profile.run.median = 8;
  profile.rounds = 7;
  profile.drifted = true;
  const json plan = json::parse(ExplainJson(*plan_, {.profile = &profile}));
  EXPECT_EQ(plan["instructions"][0]["seconds"], 0.5);
  EXPECT_EQ(plan["ops"][0]["measured"],
            (json{{"median", 2}, {"low", 1}, {"high", 4}}));
  EXPECT_EQ(plan["times"]["run"]["median"], 8);
  EXPECT_EQ(plan["times"]["profiled_runs"], 7);
  EXPECT_EQ(plan["times"]["drifted"], true);
}

}  // namespace
}  // namespace sluice
