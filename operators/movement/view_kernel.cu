#include "sluice/operators/registration.h"
#include "sluice/platform/device_context.h"

namespace sluice {
namespace {

// Nothing is copied if Out is an alias of X.
template <typename T>
class ViewCUDAKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    dims_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    Tensor& out = context.AllocateOutput(0, dims_);
    if (out.numel() == 0) return;
    const T* from = context.Input(0).template data<T>();
    T* to = out.data<T>();
    if (from == to) return;
    context.device_context().CopyOnDevice(to, from, out.bytes());
  }

 private:
  DDim dims_;
};

void AddViewKernels(Registry& registry) {
  for (const char* name : {"squeeze", "unsqueeze", "flatten"}) {
    AddPlainKernels<ViewCUDAKernel<NumberAndBoolTypes>>(registry, name,
                                                        CUDAPlace());
  }
}

}  // namespace

REGISTER_TABLE(cuda_view_kernels, AddViewKernels);

}  // namespace sluice
