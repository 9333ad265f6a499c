#pragma once

#include <string>

#include "sluice/framework/plan/candidates.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// The text that names an op with all that its kernels may look at: its type,
// dtypes and shapes, which inputs are constant, which arguments are there, and
// the attributes that differ from their defaults. Variables are not in it.
//   mul(X float32[64,784], Y float32[784,10] constant) -> Out float32[64,10]
//   {x_num_col_dims=2}
// on one line. Ops with equal signatures have equal candidates, and measured
// times are kept by it. Tensors of a plan are dense, so it has no strides.
SLUICE_API std::string OpSignature(const OpFacts& op);

}  // namespace sluice::framework
