#pragma once

#include <string>

#include "sluice/framework/op/op_kernel.h"
#include "sluice/operators/indexing/index_plans.h"

namespace sluice::operators {

// The base of the CPU kernels: finds the slices that Index names and keeps them
// in scratch during Compute.
class IndexKernel : public framework::OpKernel {
 public:
  void Prepare(framework::KernelPreparation& preparation) override;

 protected:
  // Input 0 is X or provides its shape; input 1 is Index. Raises OutOfRange for
  // an index that X does not have.
  const int64_t* Places(const framework::OpKernelContext& context) const;
  // Returns the scratch after the places, aligned to 8 bytes.
  void* MoreScratch(const framework::OpKernelContext& context) const;

  math::IndexPlan plan_;
  framework::DDim x_dims_;
  framework::DDim out_dims_;

 private:
  void RaiseOutside(const framework::OpKernelContext& context,
                    int64_t position,
                    int64_t value) const;

  int first_dim_ = 0;  // the dim of X that the first index selects from
};

}  // namespace sluice::operators
