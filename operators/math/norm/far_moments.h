#pragma once

#include <cstdint>

// Moments of doubles whose squares leave the range of double: a second path
// for the few rows that need it, in host memory and on CUDA. Sums of squares of
// floats are taken in double and never do.
namespace sluice::operators::math {

// The mean and the variance of numbers times `shrink`, a power of 2.
struct ScaledMoments {
  double mean = 0, variance = 0, shrink = 1;

  constexpr double Mean() const { return mean / shrink; }
  constexpr double Variance() const { return variance / shrink / shrink; }
  // shrink / sqrt(Square(epsilon)) is 1 / sqrt(Variance() + epsilon).
  constexpr double Square(double epsilon) const {
    return variance + epsilon * shrink * shrink;
  }
};

// `plain`, or where its squares left the range, the moments of value(0) to
// value(count - 1) again, scaled as J. Blue has it (ACM TOMS 4, 1978). T: the
// dtype of the values.
template <typename T, typename Value>
constexpr ScaledMoments MomentsInRange(const ScaledMoments& plain,
                                       double epsilon,
                                       bool centered,
                                       int64_t count,
                                       const Value& value) {
  if (sizeof(T) < sizeof(double) || count == 0) return plain;
  const double square = plain.variance + epsilon;
  // Equal numbers have no variance, whatever their size is.
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

// `plain`, the sum of weight(i) * (value(i) - mean) * inverse_std, or where
// that overflowed, the sum of other terms. T: as above.
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

}  // namespace sluice::operators::math
