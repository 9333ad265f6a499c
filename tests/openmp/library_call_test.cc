#include "sluice/platform/library_call.h"

#include <atomic>
#include <thread>

#include "tests/testing/child_process.h"
#include "tests/testing/expect_error.h"
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <omp.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

int TeamSize() {
  std::atomic<int> size{0};
#pragma omp parallel
  ++size;
  return size;
}

TEST(LibraryCall, RegionsHaveItsNumberOfThreads) {
  const int before = omp_get_max_threads();
  for (const int threads : {1, 2, 5}) {
    const LibraryCall call(threads);
    EXPECT_EQ(TeamSize(), threads);
  }
  EXPECT_EQ(omp_get_max_threads(), before);
}

TEST(LibraryCall, WhatTheEnvironmentAllowsIsAskedBefore) {
  EXPECT_EQ(LibraryThreads(1), 1);
  EXPECT_EQ(LibraryThreads(3), std::min(3, omp_get_thread_limit()));
}

TEST(LibraryCall, ManyThreadsMayCallAtOnce) {
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back([&] {
      for (int run = 0; run < 20; ++run) {
        const LibraryCall call(2);
        if (TeamSize() != 2) ++wrong;
      }
    });
  }
  for (std::thread& caller : callers)
    caller.join();
  EXPECT_EQ(wrong, 0);
}

// In a separate process, because a call that is not refused would deadlock.
TEST(LibraryCall, IsRefusedInsideOfParallelRegions) {
  if (!sluice::testing::CanStartItself()) {
    GTEST_SKIP() << "death tests need another process";
  }
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        alarm(10);
        ParallelFor(2, 1, [](int64_t, int64_t) {
          sluice::testing::ExpectError(ErrorCode::kFailedPrecondition,
                                       "library_call.nested", {"2 threads"},
                                       [] { const LibraryCall call(2); });
        });
        _exit(::testing::Test::HasFailure() ? 1 : 0);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(LibraryCall, IsRefusedInAForkedChild) {
  { const LibraryCall call(2); }
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    try {
      const LibraryCall call(2);
    } catch (const Error& error) {
      _exit(error.check_id() == "library_call.forked" ? 7 : 1);
    }
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

// Ends the process, with status 7 if the error is the expected one.
[[noreturn]] void CallWithoutRoomForThreads() {
  const rlimit none{1 << 20, 1 << 20};
  setrlimit(RLIMIT_AS, &none);
  try {
    const LibraryCall call(3);
  } catch (const Error& error) {
    _exit(error.check_id() == "library_call.threads" ? 7 : 1);
  }
  _exit(0);
}

TEST(LibraryCall, SaysThatTheSystemStartsNoThreads) {
  SCOPED_TRACE("library_call.threads");
  if (dlsym(RTLD_DEFAULT, "__asan_init") != nullptr) {
    GTEST_SKIP() << "the address sanitizer needs address space of its own";
  }
  if (!sluice::testing::CanStartItself()) {
    GTEST_SKIP() << "death tests need another process";
  }
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(CallWithoutRoomForThreads(), ::testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace sluice
