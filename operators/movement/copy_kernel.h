#pragma once

#include "sluice/operators/math/strided_copy.h"
#include "sluice/operators/registration.h"

namespace sluice {

// The work of an op that reads only as many elements of input 0 as output 0
// has.
inline KernelWork PickingWork(const KernelQuery& query) {
  KernelWork work = DefaultKernelWork(query);
  const auto elements = [](const DDim& dims) {
    return static_cast<double>(dims.known() ? dims.numel() : 0);
  };
  work.bytes += (elements(query.outputs[0]) - elements(query.inputs[0])) *
                static_cast<double>(SizeOf(query.input_dtypes[0]));
  return work;
}

// Copies input kInput to output 0 in the planned shape, for ops whose output
// may be an alias of that input. Then nothing is copied.
template <int kInput>
class CopyKernel : public OpKernel {
 public:
  explicit CopyKernel(const OpKernelConstruction& construction)
      : OpKernel(construction) {}

  void Prepare(KernelPreparation& preparation) override {
    dims_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    Tensor& out = context.AllocateOutput(0, dims_);
    if (out.numel() == 0) return;
    const void* from = context.Input(kInput).raw_data();
    void* to = out.raw_data();
    if (from != to) CopyBytes(from, to, out.bytes());
  }

 private:
  DDim dims_;
};

}  // namespace sluice
