#pragma once

#include <memory>
#include <string>

#include "sluice/framework/op/registry.h"
#include "sluice/platform/export.h"

namespace sluice {

// These call what a kernel is registered with, or do what is usual without it.
// What that raises becomes an error that names the kernel.

// Returns "" for an op that the kernel takes.
SLUICE_API std::string Refusal(const KernelDef& kernel,
                               const KernelQuery& query);

SLUICE_API KernelWork WorkOf(const KernelDef& kernel, const KernelQuery& query);

// Makes the kernel and calls its Prepare.
SLUICE_API std::unique_ptr<OpKernel> MakePrepared(
    const KernelDef& kernel,
    const OpKernelConstruction& construction,
    KernelPreparation* preparation);

}  // namespace sluice
