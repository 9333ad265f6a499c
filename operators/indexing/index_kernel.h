#pragma once

#include "sluice/operators/indexing/index_plans.h"
#include "sluice/operators/registration.h"

namespace sluice {

// The base of the CPU kernels: finds the slices that Index names and keeps them
// in scratch during Compute.
class IndexKernel : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override;

 protected:
  // Input 0 is X or provides its shape; input 1 is Index. Raises OutOfRange for
  // an index that X does not have.
  const int64_t* Places(const OpKernelContext& context) const;
  // Returns the scratch after the places, aligned to 8 bytes.
  void* MoreScratch(const OpKernelContext& context) const;

  IndexPlan plan_;
  DDim x_dims_;
  DDim out_dims_;

 private:
  void RaiseOutside(const OpKernelContext& context,
                    int64_t position,
                    int64_t value) const;

  int first_dim_ = 0;  // the dim of X that the first index selects from
};

}  // namespace sluice
