#include "sluice/platform/alignment.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(AlignmentTest, RoundsUpToTheNextMultiple) {
  EXPECT_EQ(AlignUp(0), 0u);
  EXPECT_EQ(AlignUp(1), kAlignment);
  EXPECT_EQ(AlignUp(kAlignment), kAlignment);
  EXPECT_EQ(AlignUp(kAlignment + 1), 2 * kAlignment);
}

}  // namespace
}  // namespace sluice
