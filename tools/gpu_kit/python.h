#pragma once

#include <string>

#include "tools/gpu_kit/kit.h"

namespace sluice::gpu_kit {

// The first Python that has NumPy and can import the kit's package: the
// options' or those on PATH. Where there is none, reports an item with what
// each of them said and returns "".
std::string FindPython(Kit& kit);

}  // namespace sluice::gpu_kit
