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
};

inline constexpr DType kAllDTypes[] = {
    DType::kFloat32,  DType::kFloat64, DType::kFloat16,
    DType::kBFloat16, DType::kInt8,    DType::kUInt8,
    DType::kInt32,    DType::kInt64,   DType::kBool};

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

// Bytes of one element.
SLUICE_API size_t SizeOf(DType dtype);
// "float32", "bool", ...
SLUICE_API std::string_view ToString(DType dtype);
// The inverse; raises InvalidArgument and lists the names.
SLUICE_API DType ParseDType(std::string_view name);
SLUICE_API bool IsFloating(DType dtype);

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
    case DType::kBool:
      break;
  }
  return visitor.template operator()<bool>();
}

}  // namespace sluice::platform
