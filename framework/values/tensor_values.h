#pragma once

#include <vector>

#include "sluice/framework/values/tensor.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// The elements of a tensor of any dtype at any place, as float64; int64 values
// beyond 2^53 are rounded. For comparing and printing, not for computing.
// Raises FailedPrecondition before allocation.
SLUICE_API std::vector<double> ToDoubles(const Tensor& tensor);

}  // namespace sluice::framework
