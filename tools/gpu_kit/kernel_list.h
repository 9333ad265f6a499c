#pragma once

#include <string>
#include <vector>

#include "tools/gpu_kit/kit.h"

namespace sluice::gpu_kit {

using Ops = std::vector<std::string>;

// The ops that have CUDA kernels in the libraries of `mode`. Reports an item
// and returns none when they cannot be listed.
Ops OpsWithKernels(Kit& kit, const std::string& mode);

}  // namespace sluice::gpu_kit
