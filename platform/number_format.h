#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "sluice/platform/dtype.h"
#include "sluice/platform/export.h"

// How the numbers of a dtype are made of bits: the one table that conversions,
// sizes and names come from. Everything here may be used by many threads.
namespace sluice::platform {

// What the largest codes of a float are, instead of numbers.
enum class SpecialCodes : uint8_t {
  kNone,            // no infinity and no NaN
  kIeee,            // with all bits of the exponent set: infinities and NaN
  kAllOnesNan,      // with all bits but the sign set: NaN; no infinity
  kNegativeZeroNan  // the code of -0 is NaN; no infinity
};

struct NumberFormat {
  DType dtype;
  std::string_view name;
  uint8_t bits;
  bool is_signed;
  // Of floats: bits of the exponent, those of the fraction, and what is added
  // to an exponent before it is stored. All 0 for integers and bool.
  uint8_t exponent = 0;
  uint8_t mantissa = 0;
  int16_t bias = 0;
  SpecialCodes special = SpecialCodes::kNone;

  constexpr bool is_float() const { return exponent > 0; }
};

// A row a dtype.
SLUICE_API std::span<const NumberFormat> NumberFormats();
// Raises Internal for a number that is no dtype's.
SLUICE_API const NumberFormat& FormatOf(DType dtype);

// To which of its two neighbours a number goes that float8_e8m0fnu, which has
// powers of two only, does not have: to the nearest, from the middle to the
// larger one; to the larger; to the smaller.
enum class PowerRounding : uint8_t { kNearest, kUp, kDown };

// What becomes of numbers that a float of 8 bits does not have.
struct Narrowing {
  // Those past its range, infinities included, become the nearest end;
  // otherwise infinity, or NaN where there is none. float4_e2m1fn, which has
  // neither, always saturates.
  bool saturate = true;
  PowerRounding power_rounding = PowerRounding::kUp;
};

// The code of a float of 8 bits or less: rounded once, to nearest, ties to
// even. NaN keeps its sign where there are two; for float4_e2m1fn, which has
// none, it becomes a zero with the sign turned, as in ml_dtypes.
// float8_e8m0fnu: what is below its least number is that one if saturated and
// NaN otherwise, 0 included; a negative number is NaN.
SLUICE_API uint8_t Encode(const NumberFormat& format,
                          double value,
                          Narrowing narrowing = {});

// The same for any dtype that IsStoredNumber. For integers the fraction is
// dropped, and then all bits but the lowest; NaN becomes 0.
SLUICE_API uint8_t EncodeNumber(DType dtype,
                                double value,
                                Narrowing narrowing = {});

// The numbers of all 256 bytes of a dtype that IsStoredNumber; each is a
// float.
SLUICE_API std::span<const float, 256> StoredValues(DType dtype);

}  // namespace sluice::platform
