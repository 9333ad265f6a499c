#include "sluice/framework/op/kernel_call.h"

#include "sluice/platform/error.h"
#include "sluice/platform/foreign.h"

namespace sluice {

std::string Refusal(const KernelDef& kernel, const KernelQuery& query) try {
  return kernel.predicate == nullptr ? "" : kernel.predicate(query);
} catch (...) {
  RethrowForeign(Format("the condition (When) of kernel {}", kernel));
}

KernelWork WorkOf(const KernelDef& kernel, const KernelQuery& query) try {
  return kernel.estimate == nullptr ? DefaultKernelWork(query)
                                    : kernel.estimate(query);
} catch (...) {
  RethrowForeign(Format("the estimate of kernel {}", kernel));
}

std::unique_ptr<OpKernel> MakePrepared(const KernelDef& kernel,
                                       const OpKernelConstruction& construction,
                                       KernelPreparation* preparation) try {
  std::unique_ptr<OpKernel> made = kernel.make(construction);
  made->Prepare(*preparation);
  return made;
} catch (...) {
  RethrowForeign(Format("the constructor or Prepare of kernel {}", kernel));
}

}  // namespace sluice
