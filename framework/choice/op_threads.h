#pragma once

#include <memory>

#include "sluice/framework/choice/candidates.h"
#include "sluice/framework/op/op_kernel.h"
#include "sluice/platform/export.h"

namespace sluice {

// The number of threads for work that may use `num_threads`: 1 if more of them
// are estimated to save less than it takes to wake them.
SLUICE_API int ThreadsFor(const KernelWork& work,
                          const CountCosts& costs,
                          DType dtype,
                          const MachineFigures& machine,
                          int num_threads);
// That of a kernel of an op. Kernels at devices, and those of which nothing is
// known, get `num_threads`.
SLUICE_API int ThreadsFor(const KernelQuery& query,
                          const KernelDef& kernel,
                          int num_threads);

// A kernel that runs another one, which was prepared for that, on one thread.
std::unique_ptr<OpKernel> OnOneThread(std::unique_ptr<OpKernel> kernel);

}  // namespace sluice
