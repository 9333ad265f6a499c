#include "sluice/memory/size_class.h"

#include <gtest/gtest.h>

#include "sluice/platform/alignment.h"

namespace sluice {
namespace {

// Visits every size around every step, up to 8 MiB, and some beyond.
template <typename Visitor>
void ForManySizes(Visitor visitor) {
  for (size_t bytes = 1; bytes <= 5000; ++bytes)
    visitor(bytes);
  for (size_t step = 64; step <= (size_t{8} << 20); step += 64) {
    visitor(step - 1);
    visitor(step);
    visitor(step + 1);
  }
  for (int log = 23; log < 47; ++log) {
    visitor((size_t{1} << log) - 1);
    visitor(size_t{1} << log);
    visitor((size_t{1} << log) + 1);
  }
}

TEST(SizeClassTest, RoundingCoversTheRequestWithLittleWaste) {
  ForManySizes([](size_t bytes) {
    const size_t rounded = RoundToClass(bytes);
    ASSERT_GE(rounded, bytes);
    ASSERT_EQ(rounded % kAlignment, 0u) << bytes;
    ASSERT_LE(rounded - bytes, bytes / 8 + 63) << bytes;
  });
}

TEST(SizeClassTest, RoundingDoesNotChangeTheClass) {
  ForManySizes([](size_t bytes) {
    ASSERT_EQ(SizeClass(RoundToClass(bytes)), SizeClass(bytes)) << bytes;
  });
}

TEST(SizeClassTest, SmallBlocksOfAClassHaveOneSize) {
  int last_class = -1;
  size_t last_rounded = 0;
  for (size_t bytes = 1; bytes <= kLargeBytes; ++bytes) {
    const int size_class = SizeClass(bytes);
    const size_t rounded = RoundToClass(bytes);
    ASSERT_TRUE(size_class == last_class
                    ? rounded == last_rounded
                    : size_class == last_class + 1 && rounded > last_rounded)
        << bytes;
    last_class = size_class;
    last_rounded = rounded;
  }
}

TEST(SizeClassTest, LargeBlocksWasteLessThan64KiB) {
  EXPECT_EQ(RoundToClass(kLargeBytes), kLargeBytes);
  EXPECT_EQ(RoundToClass(kLargeBytes + 1), kLargeBytes + kLargeStep);
  EXPECT_EQ(RoundToClass(size_t{16257024}), size_t{16318464});
}

TEST(SizeClassTest, TheLargestSizeHasTheLastClass) {
  EXPECT_EQ(SizeClass(1), 0);
  EXPECT_EQ(SizeClass(kMaxBytes), kSizeClasses - 1);
}

}  // namespace
}  // namespace sluice
