#pragma once

#include "sluice/framework/values/tensor_values.h"

namespace sluice::testing {

// A tensor of one element, such as a learning rate.
inline Tensor One(DType dtype, double value) {
  return FromDoubles(dtype, DDim({1}), {value});
}

}  // namespace sluice::testing
