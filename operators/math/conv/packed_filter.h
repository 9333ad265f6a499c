#pragma once

namespace sluice::operators::math {

// The filters of a convolution [out_c, in_c / groups, kernel_h, kernel_w] as
// they are and packed, and what each is multiplied by: [out_c], nullptr for 1.
struct PackedFilter {
  const float* filter = nullptr;
  const double* factors = nullptr;
  const float* packed = nullptr;
};

}  // namespace sluice::operators::math
