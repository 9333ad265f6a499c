#include "sluice/onnx/handlers/integers.h"

#include <algorithm>

namespace sluice::onnx {

std::string Quotient(Node& node, const std::string& x, const std::string& y) {
  return node.Append("elementwise_floordiv", QuotientInputs(node, x, y));
}

// Subtracting the remainder first makes the division exact.
Inputs QuotientInputs(Node& node, const std::string& x, const std::string& y) {
  const std::string rest = node.Binary("elementwise_fmod", {x, y});
  const std::string multiple = node.Binary("elementwise_sub", {x, rest});
  return {{"X", {multiple}}, {"Y", {y}}};
}

bool IsInteger(DType dtype) {
  return IsUnsigned(dtype) || dtype == DType::kInt8 || dtype == DType::kInt16 ||
         dtype == DType::kInt32 || dtype == DType::kInt64;
}

bool IsUnsigned(DType dtype) {
  return dtype == DType::kUInt8 || dtype == DType::kUInt16 ||
         dtype == DType::kUInt32 || dtype == DType::kUInt64;
}

bool TakesDType(const std::string& op, DType dtype) {
  const auto& schema = Registry::Global().Schema(op);
  const ArgDef& x = schema.inputs()[0];
  for (const TypeVarDef& var : schema.type_vars()) {
    if (var.name != x.dtype) continue;
    return std::count(var.allowed.begin(), var.allowed.end(), dtype) > 0;
  }
  return false;
}

}  // namespace sluice::onnx
