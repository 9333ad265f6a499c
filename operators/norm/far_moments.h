#pragma once

#include <cstdint>

// Moments of doubles whose squares exceed the range of double: a slow path for
// the few rows that need it, in host memory and on CUDA. Floats never need it,
// as their squares are summed in double.
namespace sluice {

// Mean and variance of numbers that were multiplied by `shrink`, a power of 2.
struct ScaledMoments {
  double mean = 0, variance = 0, shrink = 1;

  constexpr double Mean() const { return mean / shrink; }
  constexpr double Variance() const { return variance / shrink / shrink; }
  // Returns s such that shrink / sqrt(s) is 1 / sqrt(Variance() + epsilon).
  constexpr double Square(double epsilon) const {
    return variance + epsilon * shrink * shrink;
  }
};

// Returns `plain` or, if its squares exceeded the range, recomputes the moments
// of value(0) to value(count - 1) with scaling (J. Blue, ACM TOMS 4, 1978). T
// is the dtype of the values.
template <typename T, typename Value>
constexpr ScaledMoments MomentsInRange(const ScaledMoments& plain,
                                       double epsilon,
                                       bool centered,
                                       int64_t count,
                                       const Value& value) {
  if (sizeof(T) < sizeof(double) || count == 0) return plain;
  const double square = plain.variance + epsilon;
  // Large equal numbers also have variance 0, which is exact.
  const bool small = square < 0x1p-900 && plain.mean < 1 && plain.mean > -1;
  if (!small && square - square == 0) return plain;
  ScaledMoments far{.shrink = small ? 0x1p600 : 0x1p-600};
  for (int64_t i = 0; centered && i < count; ++i) {
    far.mean += value(i) * far.shrink;
  }
  far.mean /= static_cast<double>(count);
  for (int64_t i = 0; i < count; ++i) {
    const double distance = value(i) * far.shrink - far.mean;
    far.variance += distance * distance;
  }
  far.variance /= static_cast<double>(count);
  return far;
}

// Returns `plain`, the sum of weight(i) * (value(i) - mean) * inverse_std, or
// if that overflowed, the sum from halved differences. T is the values' dtype.
template <typename T, typename Weight, typename Value>
constexpr double SumInRange(double plain,
                            double mean,
                            double inverse_std,
                            int64_t count,
                            const Weight& weight,
                            const Value& value) {
  if (sizeof(T) < sizeof(double) || plain - plain == 0) return plain;
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    sum += weight(i) * ((0.5 * value(i) - 0.5 * mean) * (2 * inverse_std));
  }
  return sum;
}

}  // namespace sluice
