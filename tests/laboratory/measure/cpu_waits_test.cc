#include "sluice/laboratory/measure/cpu_waits.h"

#include <array>
#include <atomic>
#include <thread>

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include "sluice/laboratory/measure/measure_clock.h"
#include "sluice/laboratory/measure/race.h"

namespace sluice::testing {
namespace {

void Spin(double seconds) {
  const double end = ClockSeconds() + seconds;
  while (ClockSeconds() < end) {
  }
}

// Three busy threads on the only CPU that this thread may use during its
// lifetime.
class BusyCpu {
 public:
  BusyCpu() {
    sched_getaffinity(0, sizeof(before_), &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof(one), &one);
    for (std::thread& busy : busy_) {
      busy = std::thread([this] {
        while (!done_) {
          Spin(1e-4);
        }
      });
    }
  }
  ~BusyCpu() {
    done_ = true;
    for (std::thread& busy : busy_) {
      busy.join();
    }
    sched_setaffinity(0, sizeof(before_), &before_);
  }
  BusyCpu(const BusyCpu&) = delete;
  BusyCpu& operator=(const BusyCpu&) = delete;

 private:
  cpu_set_t before_{};
  std::atomic<bool> done_ = false;
  std::array<std::thread, 3> busy_;
};

class CpuWaitsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (access("/proc/self/task", F_OK) != 0 ||
        access("/proc/self/schedstat", R_OK) != 0) {
      GTEST_SKIP() << "this system does not count what threads wait";
    }
  }
};

TEST_F(CpuWaitsTest, AreFoundWhereThreadsShareACpu) {
  const BusyCpu busy;
  CpuWaits waits;
  Spin(0.1);
  EXPECT_GT(waits.SinceLast(), 0.05);
}

TEST_F(CpuWaitsTest, OnlyWhatIsLongEnoughIsDisturbed) {
  const BusyCpu busy;
  CpuWaits waits;
  Spin(0.1);
  EXPECT_FALSE(waits.Disturbed(1e-4));
  EXPECT_FALSE(waits.Disturbed(100));
  Spin(0.1);
  EXPECT_TRUE(waits.Disturbed(0.1));
}

TEST_F(CpuWaitsTest, RacesSayThatTheyWereDisturbed) {
  const BusyCpu busy;
  const Contestant spinning[] = {{.name = "", .run = [] { Spin(0.02); }}};
  RaceOptions options;
  options.budget_seconds = 10;
  options.max_rounds = 5;
  const Timing timing = Race(spinning, options).timings[0];
  EXPECT_EQ(timing.rounds, 5);
  EXPECT_TRUE(IsDisturbed(timing)) << timing.disturbed;
}

TEST(IsDisturbed, WhereHalfOfTheRoundsAre) {
  Timing timing;
  EXPECT_FALSE(IsDisturbed(timing));
  timing.rounds = 5;
  timing.disturbed = 2;
  EXPECT_FALSE(IsDisturbed(timing));
  timing.disturbed = 3;
  EXPECT_TRUE(IsDisturbed(timing));
}

}  // namespace
}  // namespace sluice::testing
