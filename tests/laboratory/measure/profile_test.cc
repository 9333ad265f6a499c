#include "sluice/laboratory/measure/profile.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "tests/framework/test_ops.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sluice/framework/run/executor.h"

namespace sluice {
namespace {

using nlohmann::json;
using sluice::testing::Append;
using sluice::testing::ExpectError;
using sluice::testing::Iota;

class ProfileTest : public ::testing::Test {
 protected:
  ProfileTest() {
    sluice::testing::UseTestOps();
    program_.Data("x", DType::kFloat32, {2, 3});
    const std::string sum =
        Append(&program_, "test_add", {{"X", {"x"}}, {"Y", {"x"}}});
    const std::string end =
        Append(&program_, "manhattan_distance", {{"X", {sum}}, {"Y", {"x"}}},
               {}, "require place=fpga:0");
    Append(&program_, "test_divide", {{"X", {"x"}}});
    plan_ = executor_.Prepare(program_, feeds_, {end});
    run_ = RunProfiled(*plan_, feeds_);
  }

  Program program_;
  Executor executor_;
  const Feeds feeds_ = {{"x", Iota({2, 3})}};
  std::shared_ptr<const Plan> plan_;
  ProfiledRun run_;
};

TEST_F(ProfileTest, GivesTheResultsOfARun) {
  EXPECT_EQ(run_.results[0].ToVector<float>(),
            plan_->Run(feeds_)[0].ToVector<float>());
}

void ExpectAnInterval(const MedianTime& time) {
  EXPECT_GT(time.low, 0);
  EXPECT_LE(time.low, time.median);
  EXPECT_LE(time.median, time.high);
}

TEST_F(ProfileTest, TimesEveryInstructionInOrder) {
  const RunProfile& profile = run_.profile;
  ASSERT_EQ(profile.instructions.size(), plan_->instructions().size());
  double sum = 0;
  for (size_t i = 0; i < profile.instructions.size(); ++i) {
    ExpectAnInterval(profile.instructions[i]);
    EXPECT_EQ(profile.begin[i], sum);
    sum += profile.instructions[i].median;
  }
  EXPECT_EQ(sum, profile.total_seconds);
}

TEST_F(ProfileTest, TimesEachOpWithItsCopies) {
  const RunProfile& profile = run_.profile;
  ASSERT_EQ(profile.ops.size(), 3u);
  ExpectAnInterval(profile.ops[0]);
  ExpectAnInterval(profile.ops[1]);
  EXPECT_EQ(profile.ops[2].high, 0) << "nobody needs it";
  double kernel = 0;
  for (size_t i = 0; i < profile.instructions.size(); ++i) {
    const Instruction& instruction = plan_->instructions()[i];
    if (instruction.op_index == 1 && instruction.kernel != nullptr) {
      kernel = profile.instructions[i].low;
    }
  }
  EXPECT_GT(profile.ops[1].median, kernel);
}

TEST_F(ProfileTest, TimesTheRunWithoutAClock) {
  EXPECT_GE(run_.profile.run.rounds, 5);
  EXPECT_GT(run_.profile.run.low, 0);
  EXPECT_LE(run_.profile.run.low, run_.profile.run.median);
}

TEST_F(ProfileTest, TheShortestBudgetStillRunsOnce) {
  const RunProfile profile =
      RunProfiled(*plan_, feeds_, nullptr, {.budget_seconds = 1e-9}).profile;
  EXPECT_GE(profile.rounds, 1);
  EXPECT_GT(profile.ops[0].median, 0);
  EXPECT_GT(profile.run.median, 0);
}

TEST_F(ProfileTest, IsOfEachOfSeveralPlans) {
  const auto all = Executor().Prepare(program_, feeds_, {});
  const ProfiledPlan plans[] = {{plan_.get(), &feeds_, nullptr},
                                {all.get(), &feeds_, nullptr}};
  const auto profiles = ProfileTogether(plans);
  ASSERT_EQ(profiles.size(), 2u);
  EXPECT_EQ(profiles[0].instructions.size(), plan_->instructions().size());
  EXPECT_EQ(profiles[1].instructions.size(), all->instructions().size());
}

TEST_F(ProfileTest, LeavesTheScopeAsOneRunDoes) {
  Program program;
  program.Data("x", DType::kFloat32, {2, 3});
  program.Persistable("total", DType::kFloat32, {2, 3});
  program.AppendOp("test_update", {{"Param", {"total"}}, {"Delta", {"x"}}}, {},
                   {}, {{"ParamOut", {"total"}}});
  Scope once;
  Scope profiled;
  for (Scope* scope : {&once, &profiled}) {
    *scope->Var("total").GetMutable<Tensor>() = Iota({2, 3});
  }
  const auto plan = executor_.Prepare(program, feeds_, {});
  plan->Run(feeds_, &once);
  const ProfiledPlan measured{plan.get(), &feeds_, &profiled};
  ProfileTogether({&measured, 1}, {.budget_seconds = 0.02});
  EXPECT_EQ(profiled.FindVar("total")->Get<Tensor>()->ToVector<float>(),
            Iota({2, 3}).ToVector<float>());
  RunProfiled(*plan, feeds_, &profiled, {.budget_seconds = 0.02});
  EXPECT_EQ(profiled.FindVar("total")->Get<Tensor>()->ToVector<float>(),
            once.FindVar("total")->Get<Tensor>()->ToVector<float>());
}

TEST_F(ProfileTest, RefusesBudgetsOfNothingAndNoPlans) {
  const ProfiledPlan plan{plan_.get(), &feeds_, nullptr};
  for (const double budget :
       {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    ExpectError(ErrorCode::kInvalidArgument, "profile.budget",
                {"more than 0 seconds"}, [&] {
                  ProfileTogether({&plan, 1}, {.budget_seconds = budget});
                });
  }
  ExpectError(ErrorCode::kInvalidArgument, "profile.plans", {"no plan"},
              [] { ProfileTogether({}); });
}

TEST_F(ProfileTest, RaisesWhatARunRaises) {
  const Feeds wrong = {{"x", Iota({4, 3})}};
  const ProfiledPlan plan{plan_.get(), &wrong, nullptr};
  EXPECT_THROW(ProfileTogether({&plan, 1}), Error);
}

TEST_F(ProfileTest, SaysThatAKernelRaisedInALaterRun) {
  Program program;
  program.Data("x", DType::kFloat32, {2, 3});
  const std::string end = Append(&program, "test_fail", {{"X", {"x"}}});
  const auto plan = executor_.Prepare(program, feeds_, {end});
  const sluice::testing::FailTestOps fail(10);
  ExpectError(ErrorCode::kInternal, "profile.raised", {"ran again", "told to"},
              [&] { RunProfiled(*plan, feeds_); });
}

// On a busy machine a run and its ops may contradict each other, and a trace
// then has no medians.
RunProfile Agreeing(RunProfile profile) {
  profile.run.median = profile.total_seconds;
  return profile;
}

TEST_F(ProfileTest, WritesAChromeTrace) {
  const json trace = json::parse(ChromeTrace(*plan_, Agreeing(run_.profile)));
  const json& events = trace.is_array() ? trace : trace.at("traceEvents");
  std::vector<std::string> names;
  std::set<std::string> tracks;
  for (const json& event : events) {
    if (event.at("ph") == "X") {
      names.push_back(event.at("name"));
      EXPECT_GE(event.at("dur").get<double>(), 0);
      EXPECT_GE(event.at("ts").get<double>(), 0);
    } else if (event.at("ph") == "M") {
      tracks.insert(event.at("args").at("name").get<std::string>());
    }
  }
  EXPECT_EQ(names.size(), plan_->instructions().size());
  EXPECT_EQ(std::count(names.begin(), names.end(), "manhattan_distance"), 1);
  EXPECT_EQ(std::count(names.begin(), names.end(), "copy x"), 1);
  EXPECT_EQ(std::count(names.begin(), names.end(), "wait for fpga:0"), 1);
  EXPECT_EQ(tracks.count("cpu"), 1u);
  EXPECT_EQ(tracks.count("fpga:0"), 1u);
}

TEST_F(ProfileTest, ARealRunIsASecondProcessOfTheTrace) {
  const ProfiledPlan again{plan_.get(), &feeds_, nullptr};
  const json events =
      json::parse(ChromeTrace(*plan_, Agreeing(run_.profile), "net", &again))
          .at("traceEvents");
  EXPECT_NE(events[0].at("args").at("name").get<std::string>().find(
                "net: medians of"),
            std::string::npos);
  EXPECT_EQ(events[1].at("args").at("name"), "net: one real run");
  std::map<std::string, json> of_run;
  for (const json& event : events) {
    if (event.at("ph") == "X" && event.at("pid") == 2) {
      of_run[event.at("name")] = event;
    }
  }
  const json& run = of_run.at(Format("run of {} kernels", plan_->ops().size()));
  EXPECT_NE(run.at("args").at("feeds").get<std::string>().find("x float32"),
            std::string::npos);
  // The kernel of the device is enqueued within the run, and its queue is at
  // work until the host has waited for it.
  const json& enqueue = of_run.at("enqueue manhattan_distance");
  const json& wait = of_run.at("wait for fpga:0");
  EXPECT_LE(run.at("ts"), enqueue.at("ts"));
  EXPECT_LE(enqueue.at("ts"), wait.at("ts"));
  EXPECT_EQ(enqueue.at("args").at("phase"), "forward");
  EXPECT_NE(enqueue.at("args").at("line").get<std::string>().find(".cc:"),
            std::string::npos);
  EXPECT_NE(enqueue.at("tid"),
            std::find_if(of_run.begin(), of_run.end(), [](const auto& named) {
              return named.second.at("cat") == "queue";
            })->second.at("tid"));
}

}  // namespace
}  // namespace sluice
