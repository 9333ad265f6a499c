#include "sluice/platform/cancel.h"

#include <thread>

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(CancelFlag, StopsOnlyThreadsWithinItsGuard) {
  CancelFlag flag;
  flag.Set(true);
  EXPECT_FALSE(CancelRequested());
  {
    const CancelGuard guard(&flag);
    EXPECT_TRUE(CancelRequested());
    std::thread([] { EXPECT_FALSE(CancelRequested()); }).join();
    const CancelFlag other;
    const CancelGuard inner(&other);
    EXPECT_FALSE(CancelRequested());
  }
  EXPECT_FALSE(CancelRequested());
}

TEST(CancelFlag, CanBeSetTwiceAndDestroyedWhileSet) {
  {
    CancelFlag flag;
    flag.Set(true);
    flag.Set(true);
    flag.Set(false);
    const CancelGuard guard(&flag);
    EXPECT_FALSE(CancelRequested());
    flag.Set(true);
  }
  EXPECT_EQ(internal::cancel_requests.load(), 0);
  SetCancelRequested(true);
  SetCancelRequested(true);
  EXPECT_TRUE(CancelRequested());
  SetCancelRequested(false);
  EXPECT_EQ(internal::cancel_requests.load(), 0);
}

}  // namespace
}  // namespace sluice
