#include "sluice/laboratory/what_if.h"

#include <cmath>
#include <limits>
#include <utility>

#include "tests/framework/test_ops.h"
#include "tests/testing/expect_error.h"
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
  const std::string same = ToString(Predicted(15.97195e-3, 15.97195e-3));
  EXPECT_THAT(same, HasSubstr("predicted: a run takes 15.97 ms now"));
  EXPECT_THAT(same, HasSubstr("copies): as long\n"));
  EXPECT_THAT(ToString(Predicted(1e-3, 0.5e-3)),
              HasSubstr("500.00 us with the change (0.00 us of copies): 2 "
                        "times as fast\n"));
}

TEST(Placement, WarnsOfPredictionsThatTakeMuchLongerThanARun) {
  Placement placement = Predicted(95e-3, 95e-3);
  placement.measured_now = Measured(50e-3);
  EXPECT_THAT(ToString(placement), Not(HasSubstr("other programs")));
  placement.measured_now = Measured(9.5e-3);
  EXPECT_THAT(
      ToString(placement),
      HasSubstr("the run measured now is 10 times as fast as predicted: other "
                "programs may have disturbed the kernels that were measured by "
                "themselves, measure again"));
}

TEST(Placement, WarnsOfARunThatTakesMuchLongerThanPredicted) {
  Placement placement = Predicted(1e-3, 1e-3);
  placement.measured_now = Measured(1.9e-3);
  EXPECT_THAT(ToString(placement), Not(HasSubstr("other programs")));
  placement.measured_now = Measured(3e-3);
  EXPECT_THAT(ToString(placement),
              HasSubstr("the run measured now takes 3 times as long as "
                        "predicted: other programs may have disturbed it"));
  placement.measured_now = Measured(1e-3);
  placement.measured_then = Measured(2.5e-3);
  EXPECT_THAT(ToString(placement),
              HasSubstr("the run measured with the change takes 2.5 times as "
                        "long as predicted"));
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
