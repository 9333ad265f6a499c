#include "sluice/laboratory/measure/profile_report.h"

#include <memory>

#include "tests/framework/test_ops.h"
#include "tests/testing/lines_of.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/framework/run/executor.h"
#include "sluice/laboratory/measure/profile.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ProfiledCall Call(int number, double seconds, double predicted) {
  ProfiledCall call;
  call.number = number;
  call.op = "relu";
  call.kernel = "plain";
  call.seconds = seconds;
  call.predicted = predicted;
  return call;
}

// 12 calls, as if measured on a quiet machine: 100, 50 and 30 us, then 2 us
// each; the last takes less than 1 us.
ProfileReport Quiet() {
  ProfileReport report;
  report.title = "training program, cpu, 1 thread; fed x [50, 13]";
  report.run.median = 200e-6;
  report.run.low = 198e-6;
  report.run.high = 203e-6;
  report.run.rounds = 78;
  report.calls = {Call(24, 100e-6, 2e-6), Call(4, 50e-6, 55e-6),
                  Call(42, 30e-6, 120e-6)};
  for (int i = 5; i < 13; ++i)
    report.calls.push_back(Call(i, 2e-6, 2e-6));
  report.calls.push_back(Call(13, 0.5e-6, 0.1e-6));
  report.calls[1].inserted = true;
  return report;
}

TEST(ProfileReport, HasTheSlowestCallsWithTheirShares) {
  const std::string text = ToString(Quiet(), 3);
  EXPECT_EQ(
      text,
      "training program, cpu, 1 thread; fed x [50, 13]\n"
      "a run takes 200 us (198 to 203 us, 78 runs); 12 calls take 196 us, "
      "slowest first\n"
      "\n"
      " #  op    kernel   us  share  so far  predicted\n"
      "24  relu  plain   100   51 %    51 %  2 (50x too low)\n"
      "+4  relu  plain    50   25 %    76 %  55\n"
      "42  relu  plain    30   15 %    92 %  120 (4.0x too high)\n"
      "... 9 more calls, 16.5 us, 8 %; 1 of them below 1 us: "
      "profile.top(12)\n"
      "\n"
      "estimates are more than 3x off for 2 calls: #24 relu, #42 relu; tuning "
      "measures\n"
      "  them\n");
  EXPECT_THAT(ToString(Quiet(), 12), HasSubstr("\n13  relu  plain    <1 "));
  EXPECT_THAT(ToString(Quiet(), 12), Not(HasSubstr("more call")));
}

TEST(ProfileReport, LeavesSharesOutOnABusyMachine) {
  ProfileReport report = Quiet();
  report.run.high = 300e-6;
  const std::string text = ToString(report);
  EXPECT_THAT(text, HasSubstr("(198 to 300 us, 78 runs, machine busy)"));
  EXPECT_THAT(text, HasSubstr("\nshares are left out: a busy machine\n"));
  EXPECT_THAT(text, Not(HasSubstr(" %")));
}

TEST(ProfileReport, ListsNoCallsThatContradictTheRun) {
  ProfileReport report = Quiet();
  for (const auto& [median, apart] :
       {std::pair(100e-6, "1.96"), std::pair(400e-6, "2.04")}) {
    report.run.median = median;
    const std::string text = ToString(report);
    EXPECT_THAT(text, HasSubstr("they add up to 196 us, and a run takes\n"));
    EXPECT_THAT(text, HasSubstr(std::string(apart) + " times apart"));
    EXPECT_THAT(text, Not(HasSubstr("relu")));
  }
}

TEST(ProfileReport, HasNoPredictionsOfAnEmulatedPlace) {
  ProfileReport report = Quiet();
  report.emulated = true;
  for (ProfiledCall& call : report.calls)
    call.predicted = 0;
  const std::string text = ToString(report);
  EXPECT_THAT(text, HasSubstr("predictions of a GPU"));
  EXPECT_THAT(text, Not(HasSubstr("predicted\n")));
  EXPECT_THAT(text, Not(HasSubstr("too low")));
}

TEST(ProfileReport, TuningIsNoAdviceForOpsThatRunBlocks) {
  ProfileReport report = Quiet();
  report.calls[0].runs_blocks = true;
  EXPECT_THAT(ToString(report), HasSubstr("3x off for 1 call: #42 relu;"));
}

TEST(ProfileReport, OnlyEstimatesAreOff) {
  ProfiledCall call = Call(1, 100e-6, 2e-6);
  EXPECT_DOUBLE_EQ(call.off(), 50);
  call.evidence = Evidence::kRecord;
  EXPECT_EQ(call.off(), 1);
  EXPECT_EQ(Call(1, 0.9e-6, 0.01e-6).off(), 1) << "both are too short";
}

TEST(ProfileReport, IsOfAPlan) {
  sluice::testing::UseTestOps();
  Program program;
  program.Data("x", DType::kFloat32, {2, 3});
  const std::string sum = sluice::testing::Append(&program, "test_add",
                                                  {{"X", {"x"}}, {"Y", {"x"}}});
  const Feeds feeds = {{"x", sluice::testing::Iota({2, 3})}};
  const auto plan = Executor().Prepare(program, feeds, {sum});
  RunProfile profile = RunProfiled(*plan, feeds).profile;
  // A busy machine may make them contradict each other.
  profile.run.median = profile.ops[0].median;
  const ProfileReport report = MakeProfileReport(*plan, profile);
  EXPECT_THAT(report.title, HasSubstr("; fed x [2, 3]"));
  ASSERT_EQ(report.calls.size(), 1u);
  EXPECT_EQ(report.calls[0].name(), "#0 test_add");
  EXPECT_EQ(report.calls[0].kernel, "plain");
  EXPECT_EQ(report.calls[0].seconds, profile.ops[0].median);
  EXPECT_GT(report.calls[0].predicted, 0);
  const ExplainTable table = MeasuredTable(*plan, profile);
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_EQ(table.rows[0].cells[1], "test_add");
  EXPECT_EQ(table.rows[0].cells.back(), "tie, registered first");
  RunProfile other = profile;
  other.run.median = 1;
  EXPECT_TRUE(MeasuredTable(*plan, other).rows.empty());
  EXPECT_THAT(MeasuredTable(*plan, other).head[2].text,
              HasSubstr("the ops are not listed"));
}

TEST(ProfileReport, IsNarrow) {
  ProfileReport report = Quiet();
  report.title = std::string(300, 't');
  for (ProfiledCall& call : report.calls) {
    call.op = std::string(300, 'o');
    call.kernel = std::string(40, 'k');
  }
  for (const std::string& line : testing::LinesOf(ToString(report))) {
    EXPECT_LE(line.size(), 80u) << line;
  }
}

}  // namespace
}  // namespace sluice
