#include "sluice/framework/inspect/profile.h"

#include <algorithm>
#include <set>

#include "tests/framework/test_ops.h"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sluice/framework/executor.h"

namespace sluice::framework {
namespace {

using nlohmann::json;
using sluice::testing::Append;
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

TEST_F(ProfileTest, TimesEveryInstructionInOrder) {
  const RunProfile& profile = run_.profile;
  ASSERT_EQ(profile.seconds.size(), plan_->instructions().size());
  double sum = 0;
  for (size_t i = 0; i < profile.seconds.size(); ++i) {
    EXPECT_GT(profile.seconds[i], 0);
    sum += profile.seconds[i];
    if (i > 0) {
      EXPECT_GE(profile.begin[i],
                profile.begin[i - 1] + profile.seconds[i - 1]);
    }
  }
  EXPECT_LE(sum, profile.total_seconds);
}

TEST_F(ProfileTest, SumsUpByOp) {
  RunProfile profile;
  for (size_t i = 0; i < plan_->instructions().size(); ++i) {
    profile.seconds.push_back(plan_->instructions()[i].op_index + 1);
  }
  double second = 0;
  for (const Instruction& instruction : plan_->instructions()) {
    if (instruction.op_index == 1) second += 2;
  }
  EXPECT_GE(second, 6);  // a kernel and two copies
  EXPECT_EQ(profile.OpSeconds(*plan_, 0), 1);
  EXPECT_EQ(profile.OpSeconds(*plan_, 1), second);
  EXPECT_EQ(profile.SecondsByOp(*plan_), (std::vector<double>{1, second}));
}

TEST_F(ProfileTest, WritesAChromeTrace) {
  const json trace = json::parse(ChromeTrace(*plan_, run_.profile));
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
  EXPECT_EQ(std::count(names.begin(), names.end(), "wait"), 1);
  EXPECT_EQ(tracks.count("cpu"), 1u);
  EXPECT_EQ(tracks.count("fpga:0"), 1u);
}

}  // namespace
}  // namespace sluice::framework
