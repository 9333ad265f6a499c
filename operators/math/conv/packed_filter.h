#pragma once

namespace sluice {

// The filters of a convolution [out_c, in_c / groups, kernel_h, kernel_w],
// unpacked and packed, and their factors [out_c] (nullptr: 1).
struct PackedFilter {
  const float* filter = nullptr;
  const double* factors = nullptr;
  const float* packed = nullptr;
};

}  // namespace sluice
