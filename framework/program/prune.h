#pragma once

#include <string>
#include <vector>

#include "sluice/framework/program/program.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// A program of its own with the ops of block 0 that `fetches` are computed
// from, in their order, and the variables that these use. Ops that only change
// parameters are not among them. Raises NotFound for an unknown variable, and
// Unimplemented for a program with further blocks.
SLUICE_API Program Prune(const Program& program,
                         const std::vector<std::string>& fetches);

}  // namespace sluice::framework
