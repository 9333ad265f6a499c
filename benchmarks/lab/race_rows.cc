#include <algorithm>
#include <csignal>
#include <cstdint>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "benchmarks/lab/rows.h"
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sluice/laboratory/measure/measure_clock.h"
#include "sluice/laboratory/measure/race.h"
#include "sluice/platform/cpu/cpu_info.h"

namespace sluice::bench {
namespace {

// A chain of dependent integer operations. Both kernels share this code: two
// copies are not equally fast on a shared core.
[[gnu::noinline, gnu::aligned(64)]] void Work(int64_t steps) {
  uint64_t state = 1;
  for (int64_t step = 0; step < steps; ++step) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    asm volatile("" : "+r"(state));
  }
}

int64_t StepsIn(double seconds) {
  constexpr int64_t kProbe = 100'000;
  double best = 1;
  for (int repeat = 0; repeat < 20; ++repeat) {
    const double begin = ClockSeconds();
    Work(kProbe);
    best = std::min(best, ClockSeconds() - begin);
  }
  return static_cast<int64_t>(seconds / best * kProbe);
}

// A process for each CPU that alternately computes and sleeps for random times
// of 0 to 20 ms, while this object exists.
class BusyProcesses {
 public:
  BusyProcesses() {
    for (int i = 0; i < AvailableCpus(); ++i) {
      const pid_t parent = getpid();
      const pid_t child = fork();
      if (child == 0) BurnAndSleep(parent, static_cast<unsigned>(i));
      if (child > 0) children_.push_back(child);
    }
  }
  ~BusyProcesses() {
    for (const pid_t child : children_) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
    }
  }
  BusyProcesses(const BusyProcesses&) = delete;
  BusyProcesses& operator=(const BusyProcesses&) = delete;

  size_t count() const { return children_.size(); }

 private:
  [[noreturn]] static void BurnAndSleep(pid_t parent, unsigned seed) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::mt19937 random(seed);
    while (getppid() == parent) {
      const double end = ClockSeconds() + random() % 20'000 * 1e-6;
      while (ClockSeconds() < end) {
        Work(1000);
      }
      usleep(random() % 20'000);
    }
    _exit(0);
  }

  std::vector<pid_t> children_;
};

// The percentage of races that do not name the faster kernel. Each race takes
// at most `budget`.
double WrongPicks(double seconds, int races, double budget) {
  // A multiple of 100, so that 1.03 times as many is an integer.
  const int64_t steps = std::max<int64_t>(StepsIn(seconds) / 100, 1) * 100;
  const Contestant fast{.name = "fast", .run = [steps] { Work(steps); }};
  const Contestant slow{.name = "slow",
                        .run = [steps] { Work(steps / 100 * 103); }};
  int wrong = 0;
  for (int race = 0; race < races; ++race) {
    const bool fast_first = race % 2 == 0;
    const std::vector<Contestant> both =
        fast_first ? std::vector{fast, slow} : std::vector{slow, fast};
    const RaceResult result = Race(both, {.budget_seconds = budget});
    const int right = fast_first ? 0 : 1;
    wrong += result.winner != right || result.tie ? 1 : 0;
  }
  return 100.0 * wrong / races;
}

}  // namespace

void AddRaceRows(const Options& options, Report& report) {
  const BusyProcesses busy;
  if (busy.count() == 0) {
    report.LeaveOut("lab/pick_3_percent", "no other process can be started");
    return;
  }
  double worst = 0;
  for (const auto& [name, seconds, races] : {std::tuple("5us", 5e-6, 400),
                                             {"50us", 50e-6, 400},
                                             {"500us", 500e-6, 200}}) {
    const double wrong = options.smoke ? WrongPicks(seconds, 2, 0.05)
                                       : WrongPicks(seconds, races, 2);
    worst = std::max(worst, wrong);
    report.Add({.id = std::string("lab/pick_3_percent/") + name,
                .unit = "% wrong",
                .value = wrong,
                .at_most = 1});
  }
  report.Add({.id = "lab/pick_3_percent",
              .unit = "% wrong",
              .value = worst,
              .at_most = 1});
}

}  // namespace sluice::bench
