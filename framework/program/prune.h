#pragma once

#include <string>
#include <vector>

#include "sluice/framework/program/program.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// A program of its own with the ops of block 0 that `fetches` are computed
// from, in their order, the blocks that they run, and the variables that these
// use. Ops that only change parameters are not among them. Raises NotFound for
// an unknown variable.
SLUICE_API Program Prune(const Program& program,
                         const std::vector<std::string>& fetches);

}  // namespace sluice::framework
