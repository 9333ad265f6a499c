#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sluice/platform/export.h"

namespace sluice {

// The parts of "manhattan_distance/blocked (cpu float32 PLAIN)", which is what
// records call a kernel: ToString(KernelDef).
struct KernelNameParts {
  std::string op, variant, place, dtype, library;
};
// Nothing for another text.
SLUICE_API std::optional<KernelNameParts> PartsOfKernelName(
    std::string_view name);

}  // namespace sluice
