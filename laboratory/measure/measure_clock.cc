#include "sluice/laboratory/measure/measure_clock.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <limits>

#include "sluice/platform/error.h"

namespace sluice {

double ClockSeconds() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

const ClockTraits& MeasureClockTraits() {
  static const ClockTraits kTraits = [] {
    using Clock = std::chrono::steady_clock;
    constexpr int kReadings = 1000;
    ClockTraits traits{.resolution = std::numeric_limits<double>::max(),
                       .cost = std::numeric_limits<double>::max()};
    for (int i = 0; i < kReadings; ++i) {
      const auto begin = Clock::now();
      auto end = Clock::now();
      const std::chrono::duration<double> cost = end - begin;
      // A coarse clock returns the same value for many readings.
      while (end == begin) {
        end = Clock::now();
      }
      const std::chrono::duration<double> step = end - begin;
      traits.cost = std::min(traits.cost, cost.count());
      traits.resolution = std::min(traits.resolution, step.count());
    }
    return traits;
  }();
  return kTraits;
}

double CalibrationSeconds() {
  constexpr int kRepeats = 3;
  constexpr int kSteps = 12'000;
  double best = std::numeric_limits<double>::max();
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const double begin = ClockSeconds();
    uint64_t state = 1;
    for (int step = 0; step < kSteps; ++step) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      // Each step depends on the one before, and the compiler can drop none.
      asm volatile("" : "+r"(state));
    }
    best = std::min(best, ClockSeconds() - begin);
  }
  return best;
}

std::string UtcNow() {
  using std::chrono::duration_cast;
  using std::chrono::milliseconds;
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  const int64_t count = duration_cast<milliseconds>(since).count();
  const std::time_t seconds = count / 1000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return Format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
                parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                parts.tm_hour, parts.tm_min, parts.tm_sec, count % 1000);
}

}  // namespace sluice
