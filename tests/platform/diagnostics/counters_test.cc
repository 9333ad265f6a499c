#include "sluice/platform/diagnostics/counters.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(Counters, BeginAtZeroAndStay) {
  std::atomic<int64_t>& counter = Counter("test.counters");
  EXPECT_EQ(counter, 0);
  counter += 2;
  EXPECT_EQ(&Counter("test.counters"), &counter);
  EXPECT_EQ(Counters().at("test.counters"), 2);
  EXPECT_EQ(Counters().count("test.other"), 0u);
}

}  // namespace
}  // namespace sluice
