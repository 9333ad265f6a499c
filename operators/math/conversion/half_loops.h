#pragma once

#include <cstdint>

#include "sluice/platform/dtype.h"

// Conversions of contiguous float16 with the best instruction set of the CPU,
// on the calling thread: rounded to nearest, ties to even. NaN stays NaN.
namespace sluice {

void WidenHalves(const float16* from, int64_t count, float* to);
void NarrowToHalves(const float* from, int64_t count, float16* to);

}  // namespace sluice
