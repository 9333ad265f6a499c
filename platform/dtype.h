#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "sluice/platform/export.h"

namespace sluice::platform {

// Element types. The numbers are stored in program files and passed to
// plug-ins: never change them.
enum class DType : uint8_t {
  kFloat32 = 1,
  kFloat64 = 2,
  kFloat16 = 3,
  kBFloat16 = 4,
  kInt8 = 5,
  kUInt8 = 6,
  kInt32 = 7,
  kInt64 = 8,
  kBool = 9,
  kInt16 = 10,
  kUInt16 = 11,
  kUInt32 = 12,
  kUInt64 = 13,
  // Each of these takes one byte, including those of 4 and 2 bits.
  kFloat8E4M3FN = 14,
  kFloat8E4M3FNUZ = 15,
  kFloat8E5M2 = 16,
  kFloat8E5M2FNUZ = 17,
  kFloat8E8M0FNU = 18,
  kFloat4E2M1FN = 19,
  kInt4 = 20,
  kUInt4 = 21,
  kInt2 = 22,
  kUInt2 = 23,
};

inline constexpr DType kAllDTypes[] = {
    DType::kFloat32,      DType::kFloat64,        DType::kFloat16,
    DType::kBFloat16,     DType::kInt8,           DType::kUInt8,
    DType::kInt32,        DType::kInt64,          DType::kBool,
    DType::kInt16,        DType::kUInt16,         DType::kUInt32,
    DType::kUInt64,       DType::kFloat8E4M3FN,   DType::kFloat8E4M3FNUZ,
    DType::kFloat8E5M2,   DType::kFloat8E5M2FNUZ, DType::kFloat8E8M0FNU,
    DType::kFloat4E2M1FN, DType::kInt4,           DType::kUInt4,
    DType::kInt2,         DType::kUInt2};
// The size of an array that is indexed by dtype numbers.
inline constexpr size_t kDTypeNumbers = 24;

// IEEE 754 binary16 and the upper half of a binary32, as storage. Kernels
// compute with Eigen::half and Eigen::bfloat16, which have the same layout.
struct float16 {
  uint16_t bits;
  bool operator==(const float16&) const = default;
};
struct bfloat16 {
  uint16_t bits;
  bool operator==(const bfloat16&) const = default;
};

// A number of 8 bits or less that is only stored, moved and converted. Its code
// is in the low bits of a byte, as in ml_dtypes. Writers clear the other bits,
// readers ignore them.
template <DType kDType>
struct StoredNumber {
  uint8_t bits;
  bool operator==(const StoredNumber&) const = default;
};
using float8_e4m3fn = StoredNumber<DType::kFloat8E4M3FN>;
using float8_e4m3fnuz = StoredNumber<DType::kFloat8E4M3FNUZ>;
using float8_e5m2 = StoredNumber<DType::kFloat8E5M2>;
using float8_e5m2fnuz = StoredNumber<DType::kFloat8E5M2FNUZ>;
using float8_e8m0fnu = StoredNumber<DType::kFloat8E8M0FNU>;
using float4_e2m1fn = StoredNumber<DType::kFloat4E2M1FN>;
using int4 = StoredNumber<DType::kInt4>;
using uint4 = StoredNumber<DType::kUInt4>;
using int2 = StoredNumber<DType::kInt2>;
using uint2 = StoredNumber<DType::kUInt2>;

// Bytes of one element.
SLUICE_API size_t SizeOf(DType dtype);
// "float32", "bool", ...
SLUICE_API std::string_view ToString(DType dtype);
// The inverse; raises InvalidArgument and lists the names.
SLUICE_API DType ParseDType(std::string_view name);
// Whether kernels compute with it as a float, and it may have gradients: false
// for floats of 8 bits and less.
SLUICE_API bool IsFloating(DType dtype);
// Whether its C++ type is a StoredNumber.
constexpr bool IsStoredNumber(DType dtype) {
  return dtype >= DType::kFloat8E4M3FN;
}

// DTypeOf<float>::value == DType::kFloat32; undefined for other types.
template <typename T>
struct DTypeOf;
template <>
struct DTypeOf<float> : std::integral_constant<DType, DType::kFloat32> {};
template <>
struct DTypeOf<double> : std::integral_constant<DType, DType::kFloat64> {};
template <>
struct DTypeOf<float16> : std::integral_constant<DType, DType::kFloat16> {};
template <>
struct DTypeOf<bfloat16> : std::integral_constant<DType, DType::kBFloat16> {};
template <>
struct DTypeOf<int8_t> : std::integral_constant<DType, DType::kInt8> {};
template <>
struct DTypeOf<uint8_t> : std::integral_constant<DType, DType::kUInt8> {};
template <>
struct DTypeOf<int32_t> : std::integral_constant<DType, DType::kInt32> {};
template <>
struct DTypeOf<int64_t> : std::integral_constant<DType, DType::kInt64> {};
template <>
struct DTypeOf<bool> : std::integral_constant<DType, DType::kBool> {};
template <>
struct DTypeOf<int16_t> : std::integral_constant<DType, DType::kInt16> {};
template <>
struct DTypeOf<uint16_t> : std::integral_constant<DType, DType::kUInt16> {};
template <>
struct DTypeOf<uint32_t> : std::integral_constant<DType, DType::kUInt32> {};
template <>
struct DTypeOf<uint64_t> : std::integral_constant<DType, DType::kUInt64> {};
template <DType kDType>
struct DTypeOf<StoredNumber<kDType>> : std::integral_constant<DType, kDType> {};

template <typename T>
concept Element = requires {
  DTypeOf<std::remove_cv_t<T>>::value;
};

template <typename T>
inline constexpr DType kDTypeOf = DTypeOf<std::remove_cv_t<T>>::value;

// Calls visitor.template operator()<T>() for the element type of `dtype`.
template <typename Visitor>
decltype(auto) VisitDType(DType dtype, Visitor&& visitor) {
  switch (dtype) {
    case DType::kFloat32:
      return visitor.template operator()<float>();
    case DType::kFloat64:
      return visitor.template operator()<double>();
    case DType::kFloat16:
      return visitor.template operator()<float16>();
    case DType::kBFloat16:
      return visitor.template operator()<bfloat16>();
    case DType::kInt8:
      return visitor.template operator()<int8_t>();
    case DType::kUInt8:
      return visitor.template operator()<uint8_t>();
    case DType::kInt32:
      return visitor.template operator()<int32_t>();
    case DType::kInt64:
      return visitor.template operator()<int64_t>();
    case DType::kInt16:
      return visitor.template operator()<int16_t>();
    case DType::kUInt16:
      return visitor.template operator()<uint16_t>();
    case DType::kUInt32:
      return visitor.template operator()<uint32_t>();
    case DType::kUInt64:
      return visitor.template operator()<uint64_t>();
    case DType::kFloat8E4M3FN:
      return visitor.template operator()<float8_e4m3fn>();
    case DType::kFloat8E4M3FNUZ:
      return visitor.template operator()<float8_e4m3fnuz>();
    case DType::kFloat8E5M2:
      return visitor.template operator()<float8_e5m2>();
    case DType::kFloat8E5M2FNUZ:
      return visitor.template operator()<float8_e5m2fnuz>();
    case DType::kFloat8E8M0FNU:
      return visitor.template operator()<float8_e8m0fnu>();
    case DType::kFloat4E2M1FN:
      return visitor.template operator()<float4_e2m1fn>();
    case DType::kInt4:
      return visitor.template operator()<int4>();
    case DType::kUInt4:
      return visitor.template operator()<uint4>();
    case DType::kInt2:
      return visitor.template operator()<int2>();
    case DType::kUInt2:
      return visitor.template operator()<uint2>();
    case DType::kBool:
      break;
  }
  return visitor.template operator()<bool>();
}

}  // namespace sluice::platform
