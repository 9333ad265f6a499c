#pragma once

#include <dnnl.hpp>

namespace sluice::onednn {

// Whether oneDNN uses vectors of 16 floats, as with AVX-512, or of 8 or fewer.
// The best kernels differ, as oneDNN's implementations do.
inline bool WideVectors() {
  switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::sse41:
    case dnnl::cpu_isa::avx:
    case dnnl::cpu_isa::avx2:
    case dnnl::cpu_isa::avx2_vnni:
    case dnnl::cpu_isa::avx2_vnni_2:
      return false;
    default:
      return true;
  }
}

}  // namespace sluice::onednn
