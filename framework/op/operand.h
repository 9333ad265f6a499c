#pragma once

#include <string>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/values/tensor.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// The attribute that operand `def` (OpSchema::Operand) of an op of type `op`
// gives, from its value on the host. Raises InvalidArgument for a value of too
// many dimensions or elements.
SLUICE_API Attribute OperandValue(const std::string& op,
                                  const ArgDef& def,
                                  const AttrDef& attr,
                                  const Tensor& value);

// Raises InvalidArgument for the shape of an operand that no attribute can
// have; unknown dims are taken.
SLUICE_API void CheckOperandShape(const std::string& op,
                                  const ArgDef& def,
                                  const AttrDef& attr,
                                  const DDim& dims);

}  // namespace sluice::framework
