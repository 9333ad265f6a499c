#pragma once

#include "sluice/platform/cuda_emulation/control.h"

namespace sluice::cuda_emulation {

// Runs a kernel on the calling thread, one block after another. The threads of
// a block are fibers that switch only at barriers and warp functions.
// Options::order is the order of both. One grid runs at a time.
void RunGrid(const KernelCall& call);

// Returns whether the caller runs on a fiber of a grid.
bool InGrid();

// Abandons the running grid: RunGrid raises FaultRaised.
[[noreturn]] void LeaveGrid();

// True for the guard page below a fiber's stack, or after the dynamic shared
// memory.
bool IsStackGuard(const void* address);
bool IsSharedGuard(const void* address);

}  // namespace sluice::cuda_emulation
