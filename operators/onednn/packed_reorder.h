#pragma once

#include "sluice/operators/onednn/primitive_cache.h"
#include "sluice/operators/packed_weights.h"

namespace sluice::onednn {

// Returns a packing that copies one parameter to another layout.
PackingPtr PackByReorder(CompiledPtr reorder);

// Runs a reorder, with memory for its scratchpad.
void RunReorder(const Compiled& reorder,
                const void* from,
                void* to,
                int threads);

}  // namespace sluice::onednn
