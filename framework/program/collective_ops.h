#pragma once

#include "sluice/framework/program/program.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// Whether the program has collective ops: those that have a kernel with
// KernelTraits::Collective. Each thread caches the result.
SLUICE_API bool HasCollectives(const Program& program);

}  // namespace sluice::framework
