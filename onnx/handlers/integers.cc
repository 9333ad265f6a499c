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

std::vector<LatePart> LateParts(Node& node, int sizes, int64_t count) {
  node.cost().Check("its parts, two ops each,", static_cast<uint64_t>(count),
                    2 * kOpBytes);
  const std::string ends = node.Unary("cumsum", node.In(sizes));
  const std::string starts =
      node.Binary("elementwise_sub", {ends, node.In(sizes)});
  std::vector<LatePart> parts;
  for (int64_t i = 0; i < count; ++i) {
    const AttributeMap one = {{"starts", Ints{i}}, {"ends", Ints{i + 1}}};
    parts.push_back(
        {node.Unary("slice", starts, one), node.Unary("slice", ends, one)});
  }
  return parts;
}

void CheckParts(const Ints& sizes, int64_t size, int64_t axis) {
  int64_t sum = 0;
  for (const int64_t part : sizes) {
    SLUICE_ENFORCE(part >= 0 && part <= INT64_MAX - sum,
                   ErrorCode::kInvalidArgument, "onnx.split_part",
                   "its input is split into a part of size {}", part);
    sum += part;
  }
  SLUICE_ENFORCE(size < 0 || size == sum, ErrorCode::kInvalidArgument,
                 "onnx.split_sizes",
                 "its input has size {} along axis {}, and is split by {} "
                 "sizes that add up to {}",
                 size, axis, sizes.size(), sum);
}

}  // namespace sluice::onnx
