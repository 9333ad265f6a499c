#include "sluice/framework/values/scope_lock.h"

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/values/scope.h"

namespace sluice {
namespace {

TEST(ScopeLockTest, AWriterWaitsForReadersOfAChild) {
  Scope scope;
  Scope& child = scope.NewScope();
  std::atomic<bool> erased = false;
  std::thread writer;
  {
    const ScopeLock reader(&child, ScopeAccess::kRead);
    writer = std::thread([&] {
      const ScopeLock lock(&scope, ScopeAccess::kWrite);
      erased = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(erased);
  }
  writer.join();
  EXPECT_TRUE(erased);
}

TEST(ScopeLockTest, OneThreadMayReadInsideOfReading) {
  Scope scope;
  Scope& child = scope.NewScope();
  const ScopeLock outer(&child, ScopeAccess::kRead);
  const ScopeLock inner(&scope, ScopeAccess::kRead);
  const ScopeLock none(nullptr, ScopeAccess::kWrite);
}

TEST(ScopeLockTest, OneThreadDoesNotWaitForItself) {
  Scope scope;
  Scope& child = scope.NewScope();
  const auto refused = [&](const char* words, ScopeAccess access) {
    sluice::testing::ExpectError(ErrorCode::kFailedPrecondition,
                                 "scope.own_run", {words},
                                 [&] { ScopeLock(&scope, access); });
  };
  {
    const ScopeLock outer(&child, ScopeAccess::kRead);
    refused("cannot change variables", ScopeAccess::kWrite);
  }
  {
    const ScopeLock outer(&child, ScopeAccess::kWrite);
    refused("cannot read variables", ScopeAccess::kRead);
  }
  const ScopeLock afterwards(&scope, ScopeAccess::kWrite);
}

}  // namespace
}  // namespace sluice
