#pragma once

#include <cmath>

#include "tests/operators/harness/op_case.h"

#include "sluice/operators/math/binary/binary_row.h"

namespace sluice::testing {

// Moves a number of any dtype into the range of an operand's examples; kSpacing
// / 2 keeps float64 off the kinks.
inline double InBinaryDomain(BinaryDomain domain, double value, bool integer) {
  constexpr double kAside = ExampleMaker::kSpacing / 2;
  const double sign = value < 0 ? -1 : 1;
  switch (domain) {
    case BinaryDomain::kAnywhere:
      return value;
    case BinaryDomain::kNotZero:
      return integer ? value : value + sign * kAside;
    case BinaryDomain::kPositive:
      return integer ? value : std::abs(value) + 0.5;
    case BinaryDomain::kWide:
      return integer ? value : 2.5 * value + sign * kAside;
    case BinaryDomain::kBeyondOne:
      if (integer) return value == 0 ? 1 : value;
      return value + sign;
    case BinaryDomain::kFewIntegers:
      return integer ? std::fmod(std::abs(value), 4) : value;
    case BinaryDomain::kShare:
      return 1 / (1 + value * value);
  }
  return value;
}

}  // namespace sluice::testing
