#pragma once

#include <cstdint>

// The machine's limits, measured with the instruction set and the number of
// threads that the kernels use. Each may take `seconds`; see MedianSeconds.
namespace sluice::bench {

// Element pairs per second of subtract, absolute value and add on float32, by
// NumThreads() threads that use only registers, with enough independent sums.
double DistancePairsPerSecond(double seconds);

// Pairs per second of subtract, compare, select the sign, and two sums.
double GradientPairsPerSecond(double seconds);

// Seconds that NumThreads() threads need to read `count` floats once.
double SecondsToRead(const float* values, int64_t count, double seconds);

}  // namespace sluice::bench
