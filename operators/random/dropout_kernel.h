#pragma once

#include <string>

#include "sluice/framework/op/op_kernel.h"

namespace sluice {

// The probability that an element is dropped, and the factor of the others.
struct DropoutSettings {
  explicit DropoutSettings(const OpKernelConstruction& construction) {
    const double given = construction.Attr<double>("dropout_prob");
    const bool is_test = construction.Attr<bool>("is_test");
    const bool upscale = construction.Attr<std::string>(
                             "dropout_implementation") == "upscale_in_train";
    if (!is_test) probability = given;
    if (is_test && !upscale) scale = 1 - given;
    // With probability 1 no element is kept.
    if (!is_test && upscale && given < 1) scale = 1 / (1 - given);
  }

  double probability = 0;
  double scale = 1;
};

}  // namespace sluice
