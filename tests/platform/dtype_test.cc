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

// These numbers are in files.
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
