#pragma once

#include "sluice/framework/op/op_registry.h"

namespace my_kernels {

// For libraries that are refused when they register it.
template <typename T>
class NoKernel final : public sluice::OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(sluice::OpKernelContext& /*context*/) const override {}
};

}  // namespace my_kernels
