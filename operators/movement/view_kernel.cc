#include "sluice/framework/op/op_registry.h"
#include "sluice/operators/movement/copy_kernel.h"

namespace sluice::operators {
namespace {

template <typename T>
class ViewKernel final : public CopyKernel<T, 0> {
  using CopyKernel<T, 0>::CopyKernel;
};

void AddViewKernels(framework::Registry& registry) {
  for (const char* name : {"squeeze", "unsqueeze", "flatten"}) {
    framework::AddPlainKernels<
        ViewKernel<float>, ViewKernel<double>, ViewKernel<platform::float16>,
        ViewKernel<platform::bfloat16>, ViewKernel<int8_t>, ViewKernel<uint8_t>,
        ViewKernel<int32_t>, ViewKernel<int64_t>, ViewKernel<bool>>(
        registry, name, platform::CPUPlace());
  }
}

}  // namespace

REGISTER_TABLE(view_kernels, AddViewKernels);

}  // namespace sluice::operators
