#pragma once

#include <cstdint>

// Loops that do nothing but keep one part of a core busy, in the widest
// instructions that this CPU and this build have; one thread each.
namespace sluice::framework {

// Each does the operations of about `rounds` rounds in registers and returns
// how many there were (see Throughput).
double RunFloat32Probe(int64_t rounds);
double RunFloat64Probe(int64_t rounds);
double RunInt8Probe(int64_t rounds);
double RunBfloat16Probe(int64_t rounds);

// Reads `count` floats, a multiple of 256, from aligned memory.
void RunReadProbe(const float* values, int64_t count);

}  // namespace sluice::framework
