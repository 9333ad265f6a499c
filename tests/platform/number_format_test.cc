#include "sluice/platform/number_format.h"

#include <bit>
#include <cmath>
#include <limits>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace sluice {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::vector<DType> StoredDTypes() {
  std::vector<DType> dtypes;
  for (const DType dtype : kAllDTypes) {
    if (IsStoredNumber(dtype)) dtypes.push_back(dtype);
  }
  return dtypes;
}

TEST(NumberFormatTest, EveryDTypeHasARow) {
  for (const DType dtype : kAllDTypes) {
    EXPECT_EQ(FormatOf(dtype).dtype, dtype);
    EXPECT_EQ(FormatOf(dtype).name, ToString(dtype));
  }
  EXPECT_EQ(NumberFormats().size(), 23u);
}

// Lookups by a name or a code take the first row: an array of bytes is uint8.
TEST(NumberFormatTest, EveryNameElsewhereIsOfOneDTypeThatIsNotSavedAsBytes) {
  std::set<std::string_view> onnx, safetensors, buffers;
  std::set<std::pair<int, size_t>> dlpack;
  for (const NumberFormat& format : NumberFormats()) {
    EXPECT_TRUE(onnx.insert(format.onnx).second) << format.name;
    const bool as_bytes =
        format.safetensors == "U8" && format.dtype != DType::kUInt8;
    EXPECT_EQ(as_bytes, IsStoredNumber(format.dtype) && format.bits < 8)
        << format.name;
    if (as_bytes) {
      EXPECT_EQ(format.dlpack, FormatOf(DType::kUInt8).dlpack) << format.name;
      EXPECT_GT(format.dtype, DType::kUInt8);
      continue;
    }
    EXPECT_TRUE(safetensors.insert(format.safetensors).second) << format.name;
    EXPECT_TRUE(dlpack.emplace(format.dlpack, SizeOf(format.dtype)).second)
        << format.name;
    if (format.buffer == nullptr) continue;
    EXPECT_TRUE(buffers.insert(format.buffer).second) << format.name;
  }
  EXPECT_EQ(buffers.size(), 12u);
}

TEST(NumberFormatTest, EveryCodeIsWhatItsNumberBecomes) {
  for (const DType dtype : StoredDTypes()) {
    const NumberFormat& format = FormatOf(dtype);
    for (int code = 0; code < 1 << format.bits; ++code) {
      const float number = StoredValues(dtype)[static_cast<size_t>(code)];
      if (std::isnan(number)) continue;
      EXPECT_EQ(EncodeNumber(dtype, number, {.saturate = false}), code)
          << ToString(dtype) << " " << number;
    }
  }
}

// Numbers between two codes, and the middle, which rounds to the even one.
TEST(NumberFormatTest, NumbersBetweenTwoCodesGoToTheNearest) {
  for (const DType dtype : StoredDTypes()) {
    const NumberFormat& format = FormatOf(dtype);
    if (!format.is_float() || !format.is_signed) continue;
    const auto values = StoredValues(dtype);
    for (size_t code = 0;
         std::isfinite(values[code + 1]) && values[code + 1] > values[code];
         ++code) {
      const double low = values[code], high = values[code + 1];
      const double middle = (low + high) / 2, near = (high - low) / 1e6;
      const size_t even = code + code % 2;
      const auto sign = static_cast<uint8_t>(1U << (format.bits - 1));
      EXPECT_EQ(Encode(format, middle), even) << format.name << " " << middle;
      EXPECT_EQ(Encode(format, middle - near), code);
      EXPECT_EQ(Encode(format, middle + near), code + 1);
      if (even == 0 && format.special == SpecialCodes::kNegativeZeroNan) {
        EXPECT_EQ(Encode(format, -middle), 0);
      } else {
        EXPECT_EQ(Encode(format, -middle), even | sign);
      }
    }
  }
}

TEST(NumberFormatTest, NumbersPastTheRangeSaturateOrAreSpecial) {
  const auto encode = [](DType dtype, double value, bool saturate) {
    return int{Encode(FormatOf(dtype), value, {.saturate = saturate})};
  };
  for (const double value : {1e6, kInfinity}) {
    EXPECT_EQ(encode(DType::kFloat8E4M3FN, value, true), 0x7E);
    EXPECT_EQ(encode(DType::kFloat8E4M3FN, -value, false), 0xFF);
    EXPECT_EQ(encode(DType::kFloat8E4M3FNUZ, -value, true), 0xFF);
    EXPECT_EQ(encode(DType::kFloat8E4M3FNUZ, value, false), 0x80);
    EXPECT_EQ(encode(DType::kFloat8E5M2, value, true), 0x7B);
    EXPECT_EQ(encode(DType::kFloat8E5M2, -value, false), 0xFC);
    EXPECT_EQ(encode(DType::kFloat8E5M2FNUZ, value, true), 0x7F);
    EXPECT_EQ(encode(DType::kFloat8E5M2FNUZ, value, false), 0x80);
    EXPECT_EQ(encode(DType::kFloat4E2M1FN, -value, false), 0xF);
  }
  // The last number that still rounds to the largest one, and the next.
  EXPECT_EQ(encode(DType::kFloat8E4M3FN, 464, false), 0x7E);
  EXPECT_EQ(encode(DType::kFloat8E4M3FN, 464.0001, false), 0x7F);
}

TEST(NumberFormatTest, NaNStaysOneWhereThereIsOne) {
  for (const DType dtype : StoredDTypes()) {
    if (!FormatOf(dtype).is_float() || dtype == DType::kFloat4E2M1FN) continue;
    for (const double nan : {kNaN, -kNaN}) {
      const uint8_t code = EncodeNumber(dtype, nan);
      EXPECT_TRUE(std::isnan(StoredValues(dtype)[code])) << ToString(dtype);
    }
  }
  EXPECT_EQ(EncodeNumber(DType::kFloat8E5M2, -kNaN), 0xFE);
  EXPECT_EQ(EncodeNumber(DType::kFloat4E2M1FN, kNaN), 0x8);
  EXPECT_EQ(EncodeNumber(DType::kInt4, kNaN), 0);
}

TEST(NumberFormatTest, PowersOfTwoAreRoundedAsAsked) {
  const auto power = [](double value, PowerRounding rounding,
                        bool saturate = true) {
    return int{
        EncodeNumber(DType::kFloat8E8M0FNU, value, {saturate, rounding})};
  };
  using enum PowerRounding;
  EXPECT_EQ(power(1, kUp), 127);
  EXPECT_EQ(power(1.001, kUp), 128);
  EXPECT_EQ(power(1.999, kDown), 127);
  EXPECT_EQ(power(1.499, kNearest), 127);
  EXPECT_EQ(power(1.5, kNearest), 128);
  EXPECT_EQ(power(0, kUp), 0);
  EXPECT_EQ(power(0, kUp, false), 255);
  EXPECT_EQ(power(1e-300, kNearest), 0);
  EXPECT_EQ(power(kInfinity, kNearest), 254);
  EXPECT_EQ(power(std::ldexp(1.9, 127), kUp), 254);
  EXPECT_EQ(power(std::ldexp(1.9, 127), kUp, false), 255);
  EXPECT_EQ(power(std::ldexp(1.9, 127), kDown, false), 254);
  EXPECT_EQ(power(-1, kUp), 255);
}

TEST(NumberFormatTest, IntegersKeepTheirLowestBits) {
  EXPECT_EQ(EncodeNumber(DType::kInt4, -1.9), 0xF);
  EXPECT_EQ(EncodeNumber(DType::kInt4, 9), 0x9);
  EXPECT_EQ(StoredValues(DType::kInt4)[0x9], -7);
  EXPECT_EQ(EncodeNumber(DType::kUInt2, 7), 3);
  EXPECT_EQ(StoredValues(DType::kInt2)[2], -2);
  EXPECT_EQ(EncodeNumber(DType::kUInt4, kInfinity), 0xF);
}

// The other bits of the byte are ignored.
TEST(NumberFormatTest, OnlyTheLowestBitsAreRead) {
  EXPECT_EQ(StoredValues(DType::kInt4)[0xF9], -7);
  EXPECT_EQ(StoredValues(DType::kFloat4E2M1FN)[0x97], 6);
}

}  // namespace
}  // namespace sluice
