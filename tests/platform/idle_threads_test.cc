#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

// CPU time of all threads of this process, in seconds.
double CpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * time.tv_nsec;
}

// Threads that spin for long after a loop hold the CPU of another process, or
// of the caller: libgomp's default is 5 ms.
TEST(IdleThreads, SleepSoonAfterALoop) {
  if (std::getenv("GOMP_SPINCOUNT") != nullptr ||
      std::getenv("OMP_WAIT_POLICY") != nullptr) {
    GTEST_SKIP() << "the environment says how long threads spin";
  }
  const ThreadCountGuard threads(2);
  std::vector<double> spent;
  for (int loop = 0; loop < 9; ++loop) {
    ParallelFor(2, 1, [](int64_t, int64_t) {});
    const double before = CpuSeconds();
    usleep(20000);
    spent.push_back(CpuSeconds() - before);
  }
  std::sort(spent.begin(), spent.end());
  EXPECT_LT(spent[4], 1e-3);
}

// Child processes must not inherit the settings for libgomp.
TEST(IdleThreads, LeaveTheEnvironmentAsItWas) {
  const ThreadCountGuard threads(2);
  ParallelFor(2, 1, [](int64_t, int64_t) {});
  const char* spin = std::getenv("GOMP_SPINCOUNT");
  EXPECT_TRUE(spin == nullptr || std::string(spin) != "1000") << spin;
}

}  // namespace
}  // namespace sluice
