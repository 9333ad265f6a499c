#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "sluice/framework/op/op_desc.h"
#include "sluice/framework/op/op_schema.h"
#include "sluice/platform/export.h"

namespace sluice {

// Checks `op` against its schema: sorts arguments in the schema's order,
// rejects unknown, missing and superfluous ones, and sets omitted attributes to
// their defaults, except those that an operand sets. Raises NotFound for
// unknown names and InvalidArgument for everything else.
SLUICE_API void CompleteOp(const OpSchema& schema, OpDesc* op);

// Returns the attribute that input `def` of `op` sets; nullptr if the input is
// omitted or is no operand.
SLUICE_API const AttrDef* GivenByOperand(const OpSchema& schema,
                                         const OpDesc& op,
                                         const ArgDef& def);

// The dtypes of an op's arguments, by the schema's type variables.
class SLUICE_API BoundTypes {
 public:
  // `input_dtypes` are flattened in schema order. Raises InvalidArgument for a
  // dtype that the schema does not allow, or when two arguments of one type
  // variable differ.
  BoundTypes(const OpSchema& schema,
             const OpDesc& op,
             const std::vector<DType>& input_dtypes);

  // Returns the dtype of an argument.
  DType Of(const ArgDef& argument) const;
  // Returns the dtype of the kernel key: that of the schema's first type
  // variable (that this op binds).
  DType KernelDType() const;

 private:
  std::vector<std::pair<std::string, DType>> bound_;
};

// Return the variables of all inputs (outputs), flattened in schema order.
SLUICE_API std::vector<std::string> FlatInputs(const OpSchema& schema,
                                               const OpDesc& op);
SLUICE_API std::vector<std::string> FlatOutputs(const OpSchema& schema,
                                                const OpDesc& op);

}  // namespace sluice
