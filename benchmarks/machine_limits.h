#pragma once

#include <cstdint>

// What the machine can do at most, measured with the instruction set and the
// number of threads that the kernels use. Each may take `seconds`; see
// MedianSeconds.
namespace sluice::bench {

// Element pairs a second of subtract, absolute value and add on float32, by
// NumThreads() threads that touch nothing but registers, in enough independent
// sums.
double DistancePairsPerSecond(double seconds);

// The same of subtract, compare, select the sign, and two sums.
double GradientPairsPerSecond(double seconds);

// Seconds in which NumThreads() threads read `count` floats once.
double SecondsToRead(const float* values, int64_t count, double seconds);

}  // namespace sluice::bench
