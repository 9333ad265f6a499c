#pragma once

#include <optional>
#include <string>

#include "sluice/framework/op/registry.h"

// What the harness leaves out.
namespace sluice::testing {

// --kernels=cuda (or cpu, fpga): of each op only the kernels of that kind of
// place, and the CPU's of library PLAIN to compare them with.
// Returns what was chosen before.
std::optional<platform::PlaceKind> ChooseKernels(
    std::optional<platform::PlaceKind> kind);

// Whether the harness runs this kernel. Raises FailedPrecondition for a kernel
// that was asked for and has no device here.
bool IsChosen(const framework::KernelDef& kernel);

// Whether this CPU is too old for the kernel: oneDNN has bfloat16 and the
// gradient of softmax only for CPUs with AVX-512.
bool CpuLacks(const framework::KernelDef& kernel);

// The kernel that lost its device and the error, "" while there is none. From
// then on tests of kernels fail with it, and run nothing.
std::string& LossOfDevice();

}  // namespace sluice::testing
