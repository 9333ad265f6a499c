#include "sluice/platform/dtype.h"

#include "sluice/platform/error.h"
#include "sluice/platform/text.h"

namespace sluice::platform {

size_t SizeOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
    case DType::kInt64:
      return 8;
    case DType::kFloat32:
    case DType::kInt32:
      return 4;
    case DType::kFloat16:
    case DType::kBFloat16:
      return 2;
    case DType::kInt8:
    case DType::kUInt8:
    case DType::kBool:
      return 1;
  }
  Raise(ErrorCode::kInternal, "dtype.number",
        "dtype: {} is the number of no dtype", static_cast<int>(dtype));
}

std::string_view ToString(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return "float32";
    case DType::kFloat64:
      return "float64";
    case DType::kFloat16:
      return "float16";
    case DType::kBFloat16:
      return "bfloat16";
    case DType::kInt8:
      return "int8";
    case DType::kUInt8:
      return "uint8";
    case DType::kInt32:
      return "int32";
    case DType::kInt64:
      return "int64";
    case DType::kBool:
      return "bool";
  }
  return "unknown dtype";
}

DType ParseDType(std::string_view name) {
  std::string names;
  for (DType dtype : kAllDTypes) {
    if (name == ToString(dtype)) return dtype;
    if (!names.empty()) names += ", ";
    names += ToString(dtype);
  }
  Raise(ErrorCode::kInvalidArgument, "dtype.name",
        "dtype: '{}' is not one of {}", Shown(name), names);
}

bool IsFloating(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat64 ||
         dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}

}  // namespace sluice::platform
