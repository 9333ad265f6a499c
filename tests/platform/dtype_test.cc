#include "sluice/platform/dtype.h"

#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/platform/error.h"

namespace sluice::platform {
namespace {

using sluice::testing::ExpectError;

TEST(DTypeTest, NamesParseBackToTheSameDType) {
  for (DType dtype : kAllDTypes) {
    EXPECT_EQ(ParseDType(ToString(dtype)), dtype);
  }
  EXPECT_EQ(ToString(DType::kBFloat16), "bfloat16");
}

TEST(DTypeTest, AnUnknownNameIsRefusedWithTheKnownOnes) {
  ExpectError(ErrorCode::kInvalidArgument, "dtype.name",
              {"'float'", "float32, float64, float16", "bool"},
              [] { ParseDType("float"); });
}

TEST(DTypeTest, ANumberOfNoDTypeHasNoSize) {
  ExpectError(ErrorCode::kInternal, "dtype.number", {"77"},
              [] { SizeOf(static_cast<DType>(77)); });
  EXPECT_EQ(ToString(static_cast<DType>(77)), "unknown dtype");
}

// Files contain these numbers.
TEST(DTypeTest, NumbersNeverChange) {
  EXPECT_EQ(static_cast<int>(DType::kFloat32), 1);
  EXPECT_EQ(static_cast<int>(DType::kFloat64), 2);
  EXPECT_EQ(static_cast<int>(DType::kFloat16), 3);
  EXPECT_EQ(static_cast<int>(DType::kBFloat16), 4);
  EXPECT_EQ(static_cast<int>(DType::kInt8), 5);
  EXPECT_EQ(static_cast<int>(DType::kUInt8), 6);
  EXPECT_EQ(static_cast<int>(DType::kInt32), 7);
  EXPECT_EQ(static_cast<int>(DType::kInt64), 8);
  EXPECT_EQ(static_cast<int>(DType::kBool), 9);
  EXPECT_EQ(static_cast<int>(DType::kInt16), 10);
  EXPECT_EQ(static_cast<int>(DType::kUInt16), 11);
  EXPECT_EQ(static_cast<int>(DType::kUInt32), 12);
  EXPECT_EQ(static_cast<int>(DType::kUInt64), 13);
  EXPECT_EQ(static_cast<int>(DType::kFloat8E4M3FN), 14);
  EXPECT_EQ(static_cast<int>(DType::kFloat8E4M3FNUZ), 15);
  EXPECT_EQ(static_cast<int>(DType::kFloat8E5M2), 16);
  EXPECT_EQ(static_cast<int>(DType::kFloat8E5M2FNUZ), 17);
  EXPECT_EQ(static_cast<int>(DType::kFloat8E8M0FNU), 18);
  EXPECT_EQ(static_cast<int>(DType::kFloat4E2M1FN), 19);
  EXPECT_EQ(static_cast<int>(DType::kInt4), 20);
  EXPECT_EQ(static_cast<int>(DType::kUInt4), 21);
  EXPECT_EQ(static_cast<int>(DType::kInt2), 22);
  EXPECT_EQ(static_cast<int>(DType::kUInt2), 23);
}

TEST(DTypeTest, VisitingGivesTheElementTypeOfEveryDType) {
  for (DType dtype : kAllDTypes) {
    const bool same = VisitDType(dtype, [&]<typename T>() {
      return kDTypeOf<T> == dtype && sizeof(T) == SizeOf(dtype);
    });
    EXPECT_TRUE(same) << ToString(dtype);
  }
}

TEST(DTypeTest, FourAreFloating) {
  int floating = 0;
  for (DType dtype : kAllDTypes)
    floating += IsFloating(dtype);
  EXPECT_EQ(floating, 4);
  EXPECT_TRUE(IsFloating(DType::kBFloat16));
}

}  // namespace
}  // namespace sluice::platform
