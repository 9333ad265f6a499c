#include "sluice/framework/op/op_registry.h"
#include "sluice/platform/device_context.h"

namespace sluice::operators {
namespace {

using framework::OpKernelConstruction;

// Nothing is copied if Out is an alias of X.
template <typename T>
class ViewCUDAKernel final : public framework::OpKernel {
 public:
  explicit ViewCUDAKernel(const OpKernelConstruction& construction)
      : OpKernel(construction) {}

  void Prepare(framework::KernelPreparation& preparation) override {
    dims_ = preparation.query.outputs[0];
  }

  void Compute(framework::OpKernelContext& context) const override {
    framework::Tensor& out = context.AllocateOutput(0, dims_);
    if (out.numel() == 0) return;
    const T* from = context.Input(0).template data<T>();
    T* to = out.data<T>();
    if (from == to) return;
    context.device_context().CopyOnDevice(to, from, out.bytes());
  }

 private:
  framework::DDim dims_;
};

void AddViewKernels(framework::Registry& registry) {
  for (const char* name : {"squeeze", "unsqueeze", "flatten"}) {
    framework::AddPlainKernels<
        ViewCUDAKernel<float>, ViewCUDAKernel<double>,
        ViewCUDAKernel<platform::float16>, ViewCUDAKernel<platform::bfloat16>,
        ViewCUDAKernel<int8_t>, ViewCUDAKernel<uint8_t>,
        ViewCUDAKernel<int32_t>, ViewCUDAKernel<int64_t>, ViewCUDAKernel<bool>>(
        registry, name, platform::CUDAPlace());
  }
}

}  // namespace

REGISTER_TABLE(cuda_view_kernels, AddViewKernels);

}  // namespace sluice::operators
