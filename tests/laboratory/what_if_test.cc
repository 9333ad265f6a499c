#include "sluice/laboratory/what_if.h"

#include <cmath>
#include <limits>
#include <utility>

#include "tests/framework/test_ops.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/lines_of.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/platform/error.h"

namespace sluice {
namespace {

using sluice::testing::ExpectError;
using ::testing::HasSubstr;
using ::testing::Not;

Timing Measured(double seconds) {
  Timing timing;
  timing.median = timing.low = timing.high = seconds;
  timing.rounds = 5;
  return timing;
}

Placement Predicted(double now, double then) {
  Placement placement;
  placement.predicted_now = now;
  placement.predicted_then = then;
  return placement;
}

TEST(Placement, SaysTimesAndTheirRatioInWords) {
  EXPECT_THAT(
      ToString(Predicted(15.97195e-3, 15.97195e-3)),
      HasSubstr("predicted: a run takes 16.0 ms now (0 us of the "
                "executor), and 16.0 ms with the\n  change: no gain\n"));
  Placement copies = Predicted(1e-3, 0.5e-3);
  copies.copies_then = 12.3e-6;
  EXPECT_THAT(ToString(copies),
              HasSubstr("and 500 us with the\n  change (12 us of copies): 2 "
                        "times as fast\n"));
}

TEST(Placement, SaysWhatToPassWithoutAChange) {
  Placement placement = Predicted(1e-3, 1e-3);
  placement.asked = false;
  placement.not_measured = "no change was asked for: pass devices";
  EXPECT_THAT(ToString(placement), Not(HasSubstr("with the change")));
  EXPECT_THAT(ToString(placement), HasSubstr("\nno change was asked for: "));
}

// One op that changes, and one that does not.
Placement WithOps() {
  Placement placement = Predicted(95e-3, 90e-3);
  PlacedOp op;
  op.op = "conv2d";
  op.kernel_now = "onednn/direct";
  op.kernel_then = "systolic at fpga:0";
  op.seconds_now = op.seconds_in_run = 14e-3;
  op.seconds_then = 9e-3;
  op.measured_now = op.changes = true;
  placement.ops.push_back(op);
  op.op_index = 46;
  op.op = "transpose";
  op.seconds_now = op.seconds_then = 8e-3;
  op.seconds_in_run = 5.21e-6;
  op.changes = false;
  placement.ops.push_back(op);
  return placement;
}

TEST(Placement, ListsWhatChangesAndCountsTheRest) {
  const std::string text = ToString(WithOps());
  EXPECT_THAT(text, HasSubstr("conv2d  onednn/direct  14.0 ms m  systolic at "
                              "fpga:0  9.0 ms p\n"));
  EXPECT_THAT(text, Not(HasSubstr("transpose")));
  EXPECT_THAT(text, HasSubstr("... 1 op the same: ToString(result, true)\n"));
  EXPECT_THAT(ToString(WithOps(), true), HasSubstr("46  transpose"));
}

TEST(Placement, PredictsNothingWhereARunIsMuchShorter) {
  Placement placement = WithOps();
  placement.measured_now = Measured(70e-3);
  EXPECT_EQ(placement.Contradiction(), "");
  EXPECT_THAT(ToString(placement), HasSubstr("predicted: a run takes 95.0 ms"));
  placement.measured_now = Measured(2.02e-3);
  for (const bool all : {false, true}) {
    const std::string text = ToString(placement, all);
    EXPECT_EQ(text, placement.Contradiction());
    EXPECT_THAT(text, Not(HasSubstr("predicted:")));
    EXPECT_THAT(text,
                HasSubstr("no prediction: a run now would take 95.0 ms by "
                          "its parts, and takes 2.02 ms"));
    EXPECT_THAT(text, HasSubstr("47 times apart"));
    EXPECT_THAT(text,
                HasSubstr("furthest off: #46 transpose by itself 8.00 ms, "
                          "in a run 5.21 us\n"));
    EXPECT_THAT(text, Not(HasSubstr("busy")));
    EXPECT_THAT(text, HasSubstr("measure again when nothing else runs"));
  }
}

TEST(Placement, PredictsNothingWhereARunIsMuchLonger) {
  Placement placement = Predicted(1e-3, 1e-3);
  placement.measured_now = Measured(1.4e-3);
  EXPECT_EQ(placement.Contradiction(), "");
  placement.measured_now = Measured(3e-3);
  EXPECT_THAT(placement.Contradiction(), HasSubstr("3 times apart"));
  placement.measured_now = Measured(1e-3);
  placement.measured_then = Measured(2.5e-3);
  EXPECT_THAT(placement.Contradiction(),
              HasSubstr("no prediction: a run with the change would take"));
}

TEST(Placement, SaysThatTheMachineWasBusy) {
  Placement placement = Predicted(1e-3, 1e-3);
  placement.measured_now = Measured(1e-3);
  EXPECT_THAT(ToString(placement), Not(HasSubstr("busy")));
  placement.measured_now.high = 1.3e-3;
  EXPECT_THAT(ToString(placement),
              HasSubstr("1.00 ms (5 runs only, machine busy) now\n"));
  placement.predicted_now = 0.1e-3;
  EXPECT_THAT(ToString(placement), HasSubstr("machine busy)"));
  placement.predicted_now = 1.45e-3;
  EXPECT_THAT(ToString(placement),
              HasSubstr("now (predicted 1.45\n  times as long)\n"));
}

TEST(Placement, IsNarrow) {
  Placement placement = WithOps();
  placement.ops[0].op = std::string(300, 'o');
  placement.measured_now = Measured(95e-3);
  placement.measured_then = Measured(90e-3);
  placement.notes = {std::string(90, 'n')};
  std::string text = ToString(placement, true);
  placement.measured_now = Measured(2e-3);
  placement.ops[0].seconds_in_run = 1;
  text += ToString(placement);
  for (const std::string& line : sluice::testing::LinesOf(text)) {
    EXPECT_LE(line.size(), 80u) << line;
  }
}

class PlaceTest : public ::testing::Test {
 protected:
  PlaceTest() {
    sluice::testing::UseTestOps();
    program_.Data("x", DType::kFloat32, {3});
    end_ = sluice::testing::Append(&program_, "test_add",
                                   {{"X", {"x"}}, {"Y", {"x"}}});
  }

  // A change without effect, with short measurements.
  static WhatIf Nothing() {
    WhatIf change;
    change.budget_seconds = 0.01;
    return change;
  }
  void ExpectRefused(ErrorCode code,
                     std::string_view check_id,
                     std::initializer_list<std::string_view> fragments,
                     const WhatIf& change) {
    const Feeds feeds = {{"x", sluice::testing::Iota({3})}};
    ExpectError(code, check_id, fragments,
                [&] { PredictPlacement(program_, feeds, {end_}, change); });
  }

  Program program_;
  std::string end_;
};

TEST_F(PlaceTest, RefusesFactorsThatAreTooSmallOrTooLarge) {
  for (const double factor : {0.0, -1.0, 2e6, std::nan("")}) {
    WhatIf change = Nothing();
    change.faster = {{"test_add", "", "", factor}};
    ExpectRefused(ErrorCode::kInvalidArgument, "place.factor",
                  {"test_add cannot be", "1e-6 to 1e6"}, change);
  }
}

TEST_F(PlaceTest, RefusesLinksThatCannotBe) {
  const std::pair<double, double> links[] = {
      {-1e-5, 1e10}, {2e3, 1e10}, {1e-5, 0}, {1e-5, 1e31}};
  for (const auto& [seconds, bytes_per_second] : links) {
    WhatIf change = Nothing();
    change.link_seconds = seconds;
    change.link_bytes_per_second = bytes_per_second;
    ExpectRefused(ErrorCode::kInvalidArgument, "place.link",
                  {"a link of", "expected 1 to 1e30"}, change);
  }
}

TEST_F(PlaceTest, RefusesABudgetOfNothing) {
  for (const double budget :
       {0.0, -1.0, std::numeric_limits<double>::infinity()}) {
    WhatIf change;
    change.budget_seconds = budget;
    ExpectRefused(ErrorCode::kInvalidArgument, "place.budget",
                  {"a budget of", "more than 0"}, change);
  }
}

TEST_F(PlaceTest, RefusesMoreThanThreeDevices) {
  WhatIf change = Nothing();
  change.devices.assign(4, FPGAPlace(0));
  ExpectRefused(ErrorCode::kInvalidArgument, "place.devices",
                {"4 devices", "at most 3"}, change);
}

TEST_F(PlaceTest, RefusesTheCpuAsADevice) {
  WhatIf change = Nothing();
  change.devices = {CPUPlace()};
  ExpectRefused(ErrorCode::kInvalidArgument, "place.device",
                {"cpu is no device"}, change);
}

TEST_F(PlaceTest, NamesTheKernelsThatCouldBeFaster) {
  WhatIf change = Nothing();
  change.faster = {{"test_add", "", "slow", 2}};
  ExpectRefused(ErrorCode::kNotFound, "place.faster",
                {"test_add/slow", "test_add/PLAIN/plain"}, change);
}

}  // namespace
}  // namespace sluice
