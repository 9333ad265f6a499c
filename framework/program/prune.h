#pragma once

#include <string>
#include <vector>

#include "sluice/framework/program/program.h"
#include "sluice/platform/export.h"

namespace sluice {

// Returns a new program with the ops of block 0 on which `fetches` depend, in
// order, the blocks that they run, and the variables that these use. Ops that
// only update parameters are not included. Raises NotFound for an unknown
// variable.
SLUICE_API Program Prune(const Program& program,
                         const std::vector<std::string>& fetches);

// Appends copies of a block's ops, with the blocks that they run, to the
// current block of another program, which has the block's data variables.
void CopyOps(const Program& from, int block, Program* to);

}  // namespace sluice
