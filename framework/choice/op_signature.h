#pragma once

#include <string>

#include "sluice/framework/choice/candidates.h"
#include "sluice/platform/export.h"

namespace sluice {

// Returns a text that identifies everything kernels may depend on: the op's
// type, dtypes and shapes, constant inputs, present arguments, and attributes
// that differ from their defaults. Names of variables are not included.
//   mul(X float32[64,784], Y float32[784,10] constant) -> Out float32[64,10]
//   {x_num_col_dims=2}
// on one line. Ops with equal signatures have equal candidates, and it is the
// key of records. Tensors of a plan are dense, so it has no strides.
SLUICE_API std::string OpSignature(const OpFacts& op);

}  // namespace sluice
