#pragma once

#include <optional>
#include <string>

#include "sluice/framework/op/registry.h"

// Selects the kernels that the harness tests.
namespace sluice::testing {

// --kernels=cuda (or cpu, fpga): tests only kernels of that kind of place,
// compared with the CPU's of library PLAIN. Returns the previous choice.
std::optional<PlaceKind> ChooseKernels(std::optional<PlaceKind> kind);

// Whether the harness runs this kernel. Raises FailedPrecondition if the kernel
// was selected but has no device here.
bool IsChosen(const KernelDef& kernel);

// Whether this CPU is too old for the kernel: oneDNN has bfloat16 and the
// gradient of softmax only for CPUs with AVX-512.
bool CpuLacks(const KernelDef& kernel);

// The kernel that lost its device and the error, or "". After a loss all kernel
// tests fail with it and run nothing.
std::string& LossOfDevice();

}  // namespace sluice::testing
