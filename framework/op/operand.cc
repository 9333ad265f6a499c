#include "sluice/framework/op/operand.h"

#include <algorithm>
#include <vector>

#include "sluice/framework/values/tensor_values.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

std::vector<int64_t> IntsOf(const Tensor& tensor) {
  if (tensor.dtype() == DType::kInt64) return tensor.ToVector<int64_t>();
  const std::vector<int32_t> values = tensor.ToVector<int32_t>();
  return {values.begin(), values.end()};
}

}  // namespace

void CheckOperandShape(const std::string& op,
                       const ArgDef& def,
                       const AttrDef& attr,
                       const DDim& dims) {
  const bool list =
      attr.type == AttrType::kInts || attr.type == AttrType::kFloats;
  const bool one = !dims.rank_known() ||
                   std::all_of(dims.begin(), dims.end(), [](int64_t size) {
                     return size < 0 || size == 1;
                   });
  SLUICE_ENFORCE(
      list ? !dims.rank_known() || dims.rank() <= 1 : one,
      ErrorCode::kInvalidArgument, "op.operand_shape",
      "{}: input {} gives attribute {}, so it must have {}, got shape {}", op,
      def.name, attr.name, list ? "one dimension" : "one element", dims);
}

Attribute OperandValue(const std::string& op,
                       const ArgDef& def,
                       const AttrDef& attr,
                       const Tensor& value) {
  CheckOperandShape(op, def, attr, value.dims());
  const bool ints = attr.type == AttrType::kInts || attr.type == AttrType::kInt;
  const DType dtype = value.dtype();
  SLUICE_ENFORCE(ints ? dtype == DType::kInt64 || dtype == DType::kInt32
                      : dtype != DType::kBool,
                 ErrorCode::kInvalidArgument, "op.operand_dtype",
                 "{}: input {} gives attribute {}, so it must be {}, got {}",
                 op, def.name, attr.name,
                 ints ? "int32 or int64" : "of numbers", dtype);
  SLUICE_ENFORCE(ints || AreDoubles(value), ErrorCode::kInvalidArgument,
                 "op.operand_exact",
                 "{}: input {} of {} gives attribute {}, which is a float; it "
                 "has an integer that no float is exactly (beyond 2^53)",
                 op, def.name, dtype, attr.name);
  switch (attr.type) {
    case AttrType::kInts:
      return IntsOf(value);
    case AttrType::kInt:
      return IntsOf(value)[0];
    case AttrType::kFloats:
      return ToDoubles(value);
    case AttrType::kFloat:
      return ToDoubles(value)[0];
    default:
      Raise(ErrorCode::kInternal, "op.operand_type",
            "{}: input {} cannot give attribute {} of type {}", op, def.name,
            attr.name, attr.type);
  }
}

}  // namespace sluice
