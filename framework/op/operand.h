#pragma once

#include <string>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/values/tensor.h"
#include "sluice/platform/export.h"

namespace sluice {

// Returns the attribute that operand `def` (OpSchema::Operand) of an op of type
// `op` sets, from its value on the host. Raises InvalidArgument for a value
// with too many dimensions or elements.
SLUICE_API Attribute OperandValue(const std::string& op,
                                  const ArgDef& def,
                                  const AttrDef& attr,
                                  const Tensor& value);

// Raises InvalidArgument for an operand's shape that no attribute can have;
// unknown dims are accepted.
SLUICE_API void CheckOperandShape(const std::string& op,
                                  const ArgDef& def,
                                  const AttrDef& attr,
                                  const DDim& dims);

}  // namespace sluice
