#pragma once

#include <cstdint>

namespace sluice {

// Probes like those of machine_probes.h, for instructions that multiply short
// numbers and add neighbouring products: AVX-512 VNNI for bytes, AVX-512 BF16.
// Call them only if Has... returns true.
bool HasInt8Dot();
double RunInt8Dot(int64_t rounds);
bool HasBfloat16Dot();
double RunBfloat16Dot(int64_t rounds);

}  // namespace sluice
