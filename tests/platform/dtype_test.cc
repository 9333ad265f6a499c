#include "sluice/platform/dtype.h"

#include <iterator>
#include <sstream>
#include <string>

#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/platform/error.h"

namespace sluice {
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
  std::istringstream names(
      "float32 float64 float16 bfloat16 int8 uint8 int32 int64 bool int16 "
      "uint16 uint32 uint64 float8_e4m3fn float8_e4m3fnuz float8_e5m2 "
      "float8_e5m2fnuz float8_e8m0fnu float4_e2m1fn int4 uint4 int2 uint2");
  int number = 0;
  for (std::string name; names >> name;) {
    EXPECT_EQ(ToString(static_cast<DType>(++number)), name);
  }
  EXPECT_EQ(number, std::ssize(kAllDTypes));
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
}  // namespace sluice
