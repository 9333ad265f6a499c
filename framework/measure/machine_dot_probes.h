#pragma once

#include <cstdint>

namespace sluice::framework {

// Probes as those of machine_probes.h, of instructions that multiply short
// numbers and sum neighbouring products: AVX-512 VNNI for bytes, AVX-512 BF16.
// To be run where Has... is true.
bool HasInt8Dot();
double RunInt8Dot(int64_t rounds);
bool HasBfloat16Dot();
double RunBfloat16Dot(int64_t rounds);

}  // namespace sluice::framework
