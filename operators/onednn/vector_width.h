#pragma once

#include <cstdlib>
#include <string_view>

#include "sluice/platform/cpu/cpu_info.h"

namespace sluice::onednn {

// Whether oneDNN uses vectors of 16 floats, as with AVX-512, or of 8 or fewer.
// The best kernels differ, as oneDNN's implementations do. It knows without
// oneDNN, which is loaded later.
inline bool WideVectors() {
  static const bool kWide = [] {
    const std::string_view set = CpuInstructionSet();
    if (!set.starts_with("AVX3") && !set.starts_with("AVX10")) return false;
    const char* text = std::getenv("ONEDNN_MAX_CPU_ISA");
    const std::string_view most = text == nullptr ? "DEFAULT" : text;
    return !most.starts_with("SSE") && most != "AVX" &&
           !most.starts_with("AVX2");
  }();
  return kWide;
}

}  // namespace sluice::onednn
