#include "sluice/platform/dtype.h"

#include <string>

#include "sluice/platform/error.h"
#include "sluice/platform/number_format.h"
#include "sluice/platform/text.h"

namespace sluice {

size_t SizeOf(DType dtype) {
  constexpr size_t kBitsOfAByte = 8;
  return (FormatOf(dtype).bits + kBitsOfAByte - 1) / kBitsOfAByte;
}

std::string_view ToString(DType dtype) {
  const auto number = static_cast<size_t>(dtype);
  const bool known = number >= 1 && number < kDTypeNumbers;
  return known ? FormatOf(dtype).name : "unknown dtype";
}

DType ParseDType(std::string_view name) {
  std::string names;
  for (const NumberFormat& format : NumberFormats()) {
    if (name == format.name) return format.dtype;
    if (!names.empty()) names += ", ";
    names += format.name;
  }
  Raise(ErrorCode::kInvalidArgument, "dtype.name",
        "dtype: '{}' is not one of {}", Shown(name), names);
}

bool IsFloating(DType dtype) {
  return FormatOf(dtype).is_float() && !IsStoredNumber(dtype);
}

}  // namespace sluice
