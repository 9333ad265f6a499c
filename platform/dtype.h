#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <type_traits>

#include "sluice/platform/dtype_table.h"
#include "sluice/platform/export.h"

namespace sluice {

// Element types. The rows are in dtype_table.h.
enum class DType : uint8_t {
#define SLUICE_ROW(dtype, number, ...) dtype = number,
  SLUICE_DTYPES(SLUICE_ROW)
#undef SLUICE_ROW
};

inline constexpr DType kAllDTypes[] = {
#define SLUICE_ROW(dtype, ...) DType::dtype,
    SLUICE_DTYPES(SLUICE_ROW)
#undef SLUICE_ROW
};
// The size of an array that is indexed by dtype numbers.
inline constexpr size_t kDTypeNumbers = std::size(kAllDTypes) + 1;

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

// Bytes of one element.
SLUICE_API size_t SizeOf(DType dtype);
// "float32", "bool", ...
SLUICE_API std::string_view ToString(DType dtype);
// The inverse; raises InvalidArgument and lists the names.
SLUICE_API DType ParseDType(std::string_view name);
// Whether kernels compute with it as a float, and it may have gradients: false
// for floats of 8 bits and less.
SLUICE_API bool IsFloating(DType dtype);

// DTypeOf<float>::value == DType::kFloat32; undefined for other types.
template <typename T>
struct DTypeOf;
#define SLUICE_ROW(dtype, number, type, ...) \
  template <>                                \
  struct DTypeOf<type> : std::integral_constant<DType, DType::dtype> {};
SLUICE_DTYPES(SLUICE_ROW)
#undef SLUICE_ROW

template <typename T>
concept Element = requires {
  DTypeOf<std::remove_cv_t<T>>::value;
};

template <typename T>
inline constexpr DType kDTypeOf = DTypeOf<std::remove_cv_t<T>>::value;

// Calls visitor.template operator()<T>() for the element type of `dtype`.
template <typename Visitor>
constexpr decltype(auto) VisitDType(DType dtype, Visitor&& visitor) {
  switch (dtype) {
#define SLUICE_ROW(dtype, number, type, ...) \
  case DType::dtype:                         \
    return visitor.template operator()<type>();
    SLUICE_DTYPES(SLUICE_ROW)
#undef SLUICE_ROW
  }
  return visitor.template operator()<uint8_t>();  // for a number of no dtype
}

struct IsStoredNumberVisitor {  // nvcc warns of such a lambda
  template <typename T>
  constexpr bool operator()() const {
    return std::is_same_v<T, StoredNumber<kDTypeOf<T>>>;
  }
};

// Whether its C++ type is a StoredNumber.
constexpr bool IsStoredNumber(DType dtype) {
  return VisitDType(dtype, IsStoredNumberVisitor());
}

}  // namespace sluice
