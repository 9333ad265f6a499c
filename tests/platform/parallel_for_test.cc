#include "sluice/platform/parallel_for.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sluice/platform/cpu/cpu_info.h"
#include "sluice/platform/error.h"

namespace sluice {
namespace {

using Ranges = std::vector<std::pair<int64_t, int64_t>>;

Ranges RangesOf(int64_t total, int64_t grain) {
  std::mutex mutex;
  Ranges ranges;
  ParallelFor(total, grain, [&](int64_t begin, int64_t end) {
    std::lock_guard<std::mutex> lock(mutex);
    ranges.emplace_back(begin, end);
  });
  std::sort(ranges.begin(), ranges.end());
  return ranges;
}

int ThreadsOfProcess() {
  int count = 0;
  for (const auto& task :
       std::filesystem::directory_iterator("/proc/self/task")) {
    static_cast<void>(task);
    ++count;
  }
  return count;
}

TEST(ParallelForTest, CoversEveryIndexOnce) {
  for (int threads : {1, 2, 3, 7}) {
    ThreadCountGuard guard(threads);
    for (int64_t total : {0, 1, 2, 5, 64, 1001}) {
      for (int64_t grain : {-1, 0, 1, 3, 64, 5000}) {
        std::vector<std::atomic<int>> seen(total);
        ParallelFor(total, grain, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            ++seen[i];
          }
        });
        for (int64_t i = 0; i < total; ++i) {
          EXPECT_EQ(seen[i], 1);
        }
      }
    }
  }
}

TEST(ParallelForTest, NegativeTotalDoesNothing) {
  ParallelFor(-5, 1, [](int64_t, int64_t) { FAIL(); });
  ParallelFor(-5, -10, [](int64_t, int64_t) { FAIL(); });
}

TEST(ParallelForTest, RangesAreTheSameEachTimeAndBeginAtMultiplesOfGrain) {
  ThreadCountGuard guard(4);
  const Ranges expected = {{0, 48}, {48, 96}, {96, 128}, {128, 150}};
  for (int repeat = 0; repeat < 20; ++repeat) {
    EXPECT_EQ(RangesOf(150, 16), expected);
  }
}

TEST(ParallelForTest, HugeTotalsDoNotOverflow) {
  ThreadCountGuard guard(3);
  const int64_t most = std::numeric_limits<int64_t>::max();
  const Ranges ranges = RangesOf(most, 1);
  ASSERT_EQ(ranges.size(), 3u);
  EXPECT_EQ(ranges.front().first, 0);
  EXPECT_EQ(ranges[0].second, ranges[1].first);
  EXPECT_EQ(ranges[1].second, ranges[2].first);
  EXPECT_EQ(ranges.back().second, most);
}

TEST(ParallelForTest, RunsShardsOnSeveralThreads) {
  ThreadCountGuard guard(3);
  std::atomic<int> inside{0};
  ParallelFor(3, 1, [&](int64_t, int64_t) {
    ++inside;
    const auto limit =
        std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (inside < 3 && std::chrono::steady_clock::now() < limit) {
      std::this_thread::yield();
    }
    EXPECT_EQ(inside, 3);
  });
}

TEST(ParallelForTest, OneRangeRunsOnTheCaller) {
  ThreadCountGuard guard(4);
  const auto caller = std::this_thread::get_id();
  ParallelFor(100, 100, [&](int64_t begin, int64_t end) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    EXPECT_EQ(end - begin, 100);
    EXPECT_EQ(NumThreads(), 4);
  });
}

TEST(ParallelForTest, NestedLoopRunsSeriallyInOneRange) {
  ThreadCountGuard guard(4);
  ParallelFor(4, 1, [&](int64_t, int64_t) {
    EXPECT_EQ(NumThreads(), 1);
    const auto outer = std::this_thread::get_id();
    int calls = 0;
    ParallelFor(1000, 1, [&](int64_t begin, int64_t end) {
      ++calls;
      EXPECT_EQ(std::this_thread::get_id(), outer);
      EXPECT_EQ(begin, 0);
      EXPECT_EQ(end, 1000);
    });
    EXPECT_EQ(calls, 1);
  });
}

TEST(ParallelForTest, ExceptionOfTheLowestShardReachesTheCaller) {
  ThreadCountGuard guard(4);
  for (int repeat = 0; repeat < 50; ++repeat) {
    try {
      ParallelFor(4, 1, [&](int64_t begin, int64_t) {
        if (begin >= 1) throw std::runtime_error(std::to_string(begin));
      });
      FAIL() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "1");
    }
  }
}

TEST(ParallelForTest, WorksAfterAnException) {
  ThreadCountGuard guard(2);
  EXPECT_THROW(
      ParallelFor(2, 1, [](int64_t, int64_t) { throw std::bad_alloc(); }),
      std::bad_alloc);
  EXPECT_EQ(NumThreads(), 2);
  EXPECT_EQ(RangesOf(2, 1).size(), 2u);
}

TEST(NumThreadsTest, GuardsNestAndRestore) {
  const int before = NumThreads();
  {
    ThreadCountGuard three(3);
    EXPECT_EQ(NumThreads(), 3);
    {
      ThreadCountGuard one(1);
      EXPECT_EQ(NumThreads(), 1);
    }
    EXPECT_EQ(NumThreads(), 3);
  }
  EXPECT_EQ(NumThreads(), before);
}

TEST(NumThreadsTest, GuardIsForItsOwnThread) {
  const int other_before = NumThreads();
  ThreadCountGuard guard(other_before + 1);
  int seen = 0;
  std::thread([&] { seen = NumThreads(); }).join();
  EXPECT_EQ(seen, other_before);
}

TEST(NumThreadsTest, DefaultIsCpusUntilSet) {
  EXPECT_EQ(NumThreads(), AvailableCpus());
  SetNumThreads(5);
  EXPECT_EQ(NumThreads(), 5);
  SetNumThreads(0);
  EXPECT_EQ(NumThreads(), AvailableCpus());
}

TEST(NumThreadsTest, RefusesCountsOutOfRange) {
  for (int count : {-1, kMaxThreads + 1}) {
    try {
      SetNumThreads(count);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.check_id(), "threads.set_range");
    }
  }
  for (int count : {-1, 0, kMaxThreads + 1}) {
    try {
      ThreadCountGuard guard(count);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.check_id(), "threads.guard_range");
    }
  }
}

TEST(ParallelForTest, ManyCallersKeepTheNumberOfThreadsBounded) {
  constexpr int kCallers = 16, kThreads = 4;
  const int before = ThreadsOfProcess();
  std::atomic<int> ready{0}, busy{0}, most_busy{0}, wrong{0}, finished{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> callers;
  for (int c = 0; c < kCallers; ++c) {
    callers.emplace_back([&] {
      ThreadCountGuard guard(kThreads);
      ++ready;
      while (ready < kCallers) {
        std::this_thread::yield();
      }
      for (int repeat = 0; repeat < 10; ++repeat) {
        std::atomic<int64_t> sum{0};
        ParallelFor(100, 1, [&](int64_t begin, int64_t end) {
          const int now = ++busy;
          int most = most_busy;
          while (now > most && !most_busy.compare_exchange_weak(most, now)) {
          }
          for (int64_t i = begin; i < end; ++i) {
            sum += i;
          }
          --busy;
        });
        if (sum != 4950) ++wrong;
      }
      ++finished;
      while (!stop) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
  }
  while (finished < kCallers) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  // All callers still exist, and so do their pools.
  const int idle = ThreadsOfProcess() - before - kCallers;
  stop = true;
  for (std::thread& caller : callers) {
    caller.join();
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(most_busy, std::max(kThreads, AvailableCpus()));
  EXPECT_LE(idle, std::max(8, 2 * AvailableCpus()));
}

TEST(ForkTest, ChildAfterALoopRunsSeriallyAndSaysSo) {
  ThreadCountGuard guard(2);
  EXPECT_FALSE(ForkedAfterParallelRun());
  EXPECT_EQ(RangesOf(2, 1).size(), 2u);
  const pid_t child = fork();
  if (child == 0) {
    int calls = 0;
    ParallelFor(2, 1, [&](int64_t, int64_t) { ++calls; });
    _exit(ForkedAfterParallelRun() && calls == 1 ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(ForkedAfterParallelRun());
}

}  // namespace
}  // namespace sluice
