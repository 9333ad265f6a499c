#include "sluice/framework/laboratory/what_if.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::framework {
namespace {

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

}  // namespace
}  // namespace sluice::framework
