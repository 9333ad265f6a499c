#pragma once

#include <string>

#include "sluice/framework/op/op_kernel.h"
#include "sluice/operators/indexing/index_plans.h"

namespace sluice::operators {

// Of the CPU's kernels: finds the slices that Index names, which lie in scratch
// while Compute runs.
class IndexKernel : public framework::OpKernel {
 public:
  void Prepare(framework::KernelPreparation& preparation) override;

 protected:
  // Input 0 is X, or gives its shape, and input 1 Index. Raises OutOfRange for
  // an index that X does not have.
  const int64_t* Places(const framework::OpKernelContext& context) const;
  // Of further scratch; at 8 bytes each.
  void* MoreScratch(const framework::OpKernelContext& context) const;

  math::IndexPlan plan_;
  framework::DDim x_dims_;
  framework::DDim out_dims_;

 private:
  void RaiseOutside(const framework::OpKernelContext& context,
                    int64_t position,
                    int64_t value) const;

  int first_dim_ = 0;  // of X, that the first index of a slice is for
};

}  // namespace sluice::operators
