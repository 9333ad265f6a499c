#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "sluice/platform/dtype.h"
#include "sluice/platform/export.h"

// The formats of dtype_table.h, and conversions between them. Thread-safe.
namespace sluice {

// The special values among the largest codes of a float.
enum class SpecialCodes : uint8_t {
  kNone,            // no infinity and no NaN
  kIeee,            // with all bits of the exponent set: infinities and NaN
  kAllOnesNan,      // with all bits but the sign set: NaN; no infinity
  kNegativeZeroNan  // the code of -0 is NaN; no infinity
};

struct NumberFormat {
  DType dtype;
  std::string_view onnx;  // the enumerator of ONNX's TensorProto::DataType
  std::string_view name;
  uint8_t bits;
  bool is_signed;
  uint8_t onnx_since;  // the first opset of ONNX that has it
  std::string_view safetensors;
  uint8_t dlpack;      // the type code; as bytes of the element's size
  const char* buffer;  // the format of Python's buffer protocol; null: none
  // For floats: the bits of the exponent, those of the fraction, and the bias
  // of a stored exponent. All 0 for integers and bool.
  uint8_t exponent = 0;
  uint8_t mantissa = 0;
  int16_t bias = 0;
  SpecialCodes special = SpecialCodes::kNone;

  constexpr bool is_float() const { return exponent > 0; }
};

// Returns one row for each dtype.
SLUICE_API std::span<const NumberFormat> NumberFormats();
// Raises Internal for a number that is not a dtype.
SLUICE_API const NumberFormat& FormatOf(DType dtype);

// How float8_e8m0fnu, which has only powers of two, rounds other numbers: to
// the nearest (from the middle to the larger), to the larger, or to the
// smaller.
enum class PowerRounding : uint8_t { kNearest, kUp, kDown };

// How numbers outside a float of 8 bits are converted.
struct Narrowing {
  // Numbers out of range, infinities included, become the nearest limit;
  // otherwise infinity, or NaN in formats without infinity. float4_e2m1fn,
  // which has neither, always saturates.
  bool saturate = true;
  PowerRounding power_rounding = PowerRounding::kUp;
};

// Returns the code in a float of 8 bits or less: rounded once, to nearest, ties
// to even. NaN keeps its sign in formats with two NaNs; in float4_e2m1fn, which
// has none, it becomes a zero with the opposite sign, as in ml_dtypes. In
// float8_e8m0fnu, a number below the least (0 included) becomes the least if
// saturated, else NaN; a negative number becomes NaN.
SLUICE_API uint8_t Encode(const NumberFormat& format,
                          double value,
                          Narrowing narrowing = {});

// Returns the code in any dtype that IsStoredNumber. Integers drop the fraction
// and keep only the lowest bits; NaN becomes 0.
SLUICE_API uint8_t EncodeNumber(DType dtype,
                                double value,
                                Narrowing narrowing = {});

// Returns the values of all 256 bytes of a dtype that IsStoredNumber; each is
// exact in float.
SLUICE_API std::span<const float, 256> StoredValues(DType dtype);

}  // namespace sluice
