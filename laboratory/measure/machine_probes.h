#pragma once

#include <cstdint>

// Single-threaded loops that keep one unit of a core busy, with the widest
// instructions that this CPU and build have.
namespace sluice {

// Each performs about `rounds` rounds of operations in registers and returns
// their number (see Throughput).
double RunFloat32Probe(int64_t rounds);
double RunFloat64Probe(int64_t rounds);
double RunInt8Probe(int64_t rounds);
double RunBfloat16Probe(int64_t rounds);

// Reads `count` floats, a multiple of 256, from aligned memory.
void RunReadProbe(const float* values, int64_t count);

}  // namespace sluice
