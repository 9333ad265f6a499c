#pragma once

#include "sluice/framework/op/op_kernel.h"
#include "sluice/operators/math/sequence/discriminative_loss.h"

// Shared by the kernels of discriminative_loss and its gradient.
namespace sluice {

inline DiscriminativeLossParams DiscriminativeLossParamsOf(
    const OpKernelConstruction& construction) {
  return {
      .delta_v = construction.Attr<double>("delta_v"),
      .delta_d = construction.Attr<double>("delta_d"),
      .variance_weight = construction.Attr<double>("variance_weight"),
      .distance_weight = construction.Attr<double>("distance_weight"),
      .regularization_weight =
          construction.Attr<double>("regularization_weight"),
  };
}

}  // namespace sluice
