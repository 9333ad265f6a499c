#include "sluice/operators/movement/copy_kernel.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

class ViewKernel final : public CopyKernel<0> {
  using CopyKernel<0>::CopyKernel;
};

void AddViewKernels(Registry& registry) {
  for (const char* name : {"squeeze", "unsqueeze", "flatten"}) {
    AddPlainKernels<ViewKernel>(registry, name, CPUPlace());
  }
}

}  // namespace

REGISTER_TABLE(view_kernels, AddViewKernels);

}  // namespace sluice
