#pragma once

#include "sluice/framework/program/program.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// Whether the program has ops that all ranks take part in: such as have a
// kernel with KernelTraits::Collective. Remembered for each thread.
SLUICE_API bool HasCollectives(const Program& program);

}  // namespace sluice::framework
