#pragma once

#include "sluice/platform/cuda_emulation/control.h"

namespace sluice::cuda_emulation {

// Runs a kernel on the calling thread: one block after another, and the
// threads of a block as fibers that change places only at barriers and warp
// functions. The order of both is Options::order. One grid runs at a time.
void RunGrid(const KernelCall& call);

// True on a fiber of a grid.
bool InGrid();

// Gives up the grid that runs: goes on after RunGrid, which raises FaultRaised.
[[noreturn]] void LeaveGrid();

// True for the guard page below a fiber's stack, and for the one behind the
// dynamic shared memory.
bool IsStackGuard(const void* address);
bool IsSharedGuard(const void* address);

}  // namespace sluice::cuda_emulation
