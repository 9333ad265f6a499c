#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "sluice/framework/op/op_desc.h"
#include "sluice/framework/op/op_schema.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// Holds `op` against its schema: brings arguments into the schema's order,
// refuses unknown, missing and superfluous ones, and gives every attribute
// that was left out its default; not those that an operand gives. Raises
// NotFound for unknown names and InvalidArgument for everything else.
SLUICE_API void CompleteOp(const OpSchema& schema, OpDesc* op);

// The attribute that input `def` of `op` gives: nullptr where that was left
// out, or is no operand.
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

  // The dtype of an argument.
  DType Of(const ArgDef& argument) const;
  // The dtype that the kernel key has: that of the first type variable that
  // the schema declares (and this op binds).
  DType KernelDType() const;

 private:
  std::vector<std::pair<std::string, DType>> bound_;
};

// The variables of all inputs (outputs), flattened in schema order.
SLUICE_API std::vector<std::string> FlatInputs(const OpSchema& schema,
                                               const OpDesc& op);
SLUICE_API std::vector<std::string> FlatOutputs(const OpSchema& schema,
                                                const OpDesc& op);

}  // namespace sluice::framework
