#include "sluice/platform/number_format.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "sluice/platform/error.h"

namespace sluice {

namespace {

using enum SpecialCodes;

constexpr NumberFormat kFormats[] = {
#define SLUICE_ROW(dtype, number, type, onnx_type, mpi, nccl, onednn, ...) \
  {DType::dtype, #onnx_type, __VA_ARGS__},
    SLUICE_DTYPES(SLUICE_ROW)
#undef SLUICE_ROW
};
// The index of a row is its number less 1.
static_assert(std::ranges::all_of(kFormats, [](const NumberFormat& format) {
  return &format - kFormats + 1 == static_cast<int>(format.dtype);
}));

// Bit masks of a format's codes.
struct Codes {
  constexpr explicit Codes(const NumberFormat& format)
      : sign(format.is_signed ? 1U << (format.bits - 1) : 0),
        all((1U << (format.bits - 1)) - 1),
        fraction((1U << format.mantissa) - 1) {
    switch (format.special) {
      case kNone:
      case kNegativeZeroNan:
        largest = all;
        break;
      case kIeee:
        largest = (all & ~fraction) - 1;
        break;
      case kAllOnesNan:
        largest = all - 1;
        break;
    }
  }
  unsigned sign;         // the sign bit
  unsigned all;          // all other bits
  unsigned fraction;     // the fraction bits
  unsigned largest = 0;  // the code of the largest number
};

// Returns value / 2^places, rounded to nearest, ties to even.
uint64_t ShiftToNearestEven(uint64_t value, int places) {
  if (places > 63) return 0;
  const uint64_t half = uint64_t{1} << (places - 1);
  return (value + half - 1 + (value >> places & 1)) >> places;
}

constexpr int kDoubleMantissa = 52;
constexpr int kDoubleBias = 1023;

// Returns the code of a finite magnitude. It exceeds the largest code if the
// magnitude is out of range.
uint64_t RoundedCode(const NumberFormat& format, double magnitude) {
  const auto bits = std::bit_cast<uint64_t>(magnitude);
  const int exponent = static_cast<int>(bits >> kDoubleMantissa) - kDoubleBias;
  const int least = 1 - format.bias;  // exponent of the least normal number
  const int dropped = kDoubleMantissa - format.mantissa;
  if (exponent >= least) {
    const int64_t offset = int64_t{kDoubleBias} + least - 1;
    return ShiftToNearestEven(
        bits - (static_cast<uint64_t>(offset) << kDoubleMantissa), dropped);
  }
  if (exponent == -kDoubleBias) return 0;  // rounds to 0 in every format
  const uint64_t one = uint64_t{1} << kDoubleMantissa;
  return ShiftToNearestEven((bits & (one - 1)) | one,
                            dropped + least - exponent);
}

unsigned NanCode(const NumberFormat& format, const Codes& codes, bool minus) {
  const unsigned sign = minus ? codes.sign : 0;
  switch (format.special) {
    case kNone:
      return sign ^ codes.sign;
    case kNegativeZeroNan:
      return codes.sign;
    case kAllOnesNan:
      return sign | codes.all;
    case kIeee:
      break;
  }
  return sign | (codes.largest + 1) | (codes.fraction + 1) / 2;
}

// Returns the code of a number beyond the largest.
unsigned EndCode(const NumberFormat& format,
                 const Codes& codes,
                 bool minus,
                 bool saturate) {
  const unsigned sign = minus ? codes.sign : 0;
  if (saturate || format.special == kNone) return sign | codes.largest;
  if (format.special == kIeee) return sign | (codes.largest + 1);
  return NanCode(format, codes, minus);
}

// Codes of float8_e8m0fnu are exponents.
uint8_t EncodePower(double value, Narrowing narrowing) {
  constexpr uint8_t kNan = 255, kLargest = 254;
  constexpr int kBias = 127;
  if (std::isnan(value) || value < 0) return kNan;
  const double least = std::ldexp(1.0, -kBias);
  if (value < least) return narrowing.saturate ? 0 : kNan;
  const uint8_t end = narrowing.saturate ? kLargest : kNan;
  if (std::isinf(value)) return end;
  int exponent = 0;
  const double fraction = 2 * std::frexp(value, &exponent);  // from 1 to 2
  --exponent;
  const PowerRounding rounding = narrowing.power_rounding;
  const bool up =
      rounding == PowerRounding::kUp ? fraction > 1 : fraction >= 1.5;
  if (up && rounding != PowerRounding::kDown) ++exponent;
  return exponent > kBias ? end : static_cast<uint8_t>(exponent + kBias);
}

float Decode(const NumberFormat& format, unsigned byte) {
  const unsigned code = byte & ((1U << format.bits) - 1);
  if (format.dtype == DType::kFloat8E8M0FNU) {
    return code == 255 ? std::numeric_limits<float>::quiet_NaN()
                       : std::ldexp(1.0F, static_cast<int>(code) - format.bias);
  }
  const unsigned sign = 1U << (format.bits - 1);
  const bool minus = format.is_signed && (code & sign) != 0;
  if (!format.is_float()) {
    return static_cast<float>(code) -
           (minus ? std::ldexp(1.0F, format.bits) : 0);
  }
  const Codes codes(format);
  const unsigned magnitude = code & codes.all;
  const float turn = minus ? -1.0F : 1.0F;
  if (format.special == kNegativeZeroNan && code == codes.sign) {
    return std::numeric_limits<float>::quiet_NaN();
  }
  if (magnitude > codes.largest) {
    const bool infinite =
        format.special == kIeee && magnitude == codes.largest + 1;
    return std::copysign(infinite ? std::numeric_limits<float>::infinity()
                                  : std::numeric_limits<float>::quiet_NaN(),
                         turn);
  }
  const unsigned exponent = magnitude >> format.mantissa;
  const unsigned fraction = magnitude & codes.fraction;
  const unsigned whole = exponent == 0 ? 0 : codes.fraction + 1;
  const int power =
      static_cast<int>(std::max(exponent, 1U)) - format.bias - format.mantissa;
  return turn * std::ldexp(static_cast<float>(whole + fraction), power);
}

using Values = std::array<float, 256>;

std::array<Values, kDTypeNumbers> AllStoredValues() {
  std::array<Values, kDTypeNumbers> all{};
  for (const NumberFormat& format : kFormats) {
    if (!IsStoredNumber(format.dtype)) continue;
    for (unsigned byte = 0; byte < 256; ++byte) {
      all[static_cast<size_t>(format.dtype)][byte] = Decode(format, byte);
    }
  }
  return all;
}

}  // namespace

std::span<const NumberFormat> NumberFormats() {
  return kFormats;
}

const NumberFormat& FormatOf(DType dtype) {
  const auto number = static_cast<size_t>(dtype);
  if (number >= 1 && number < kDTypeNumbers) return kFormats[number - 1];
  Raise(ErrorCode::kInternal, "dtype.number",
        "dtype: {} is the number of no dtype", number);
}

uint8_t Encode(const NumberFormat& format, double value, Narrowing narrowing) {
  if (format.dtype == DType::kFloat8E8M0FNU) {
    return EncodePower(value, narrowing);
  }
  const Codes codes(format);
  const bool minus = std::signbit(value);
  if (std::isnan(value)) {
    return static_cast<uint8_t>(NanCode(format, codes, minus));
  }
  const uint64_t code = std::isinf(value)
                            ? uint64_t{codes.largest} + 1
                            : RoundedCode(format, std::fabs(value));
  if (code > codes.largest) {
    return static_cast<uint8_t>(
        EndCode(format, codes, minus, narrowing.saturate));
  }
  const bool has_sign =
      minus && (code != 0 || format.special != kNegativeZeroNan);
  return static_cast<uint8_t>(code | (has_sign ? codes.sign : 0));
}

uint8_t EncodeNumber(DType dtype, double value, Narrowing narrowing) {
  const NumberFormat& format = FormatOf(dtype);
  if (format.is_float()) return Encode(format, value, narrowing);
  constexpr double kPast = 0x1p63;
  const double within =
      std::isnan(value) ? 0 : std::clamp(value, -kPast, kPast);
  const int64_t whole = within == kPast ? std::numeric_limits<int64_t>::max()
                                        : static_cast<int64_t>(within);
  return static_cast<uint8_t>(whole & ((1 << format.bits) - 1));
}

std::span<const float, 256> StoredValues(DType dtype) {
  static const std::array<Values, kDTypeNumbers> kValues = AllStoredValues();
  return kValues[static_cast<size_t>(FormatOf(dtype).dtype)];
}

}  // namespace sluice
