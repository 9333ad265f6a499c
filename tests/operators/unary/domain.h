#pragma once

#include <cmath>

#include "tests/operators/harness/op_case.h"

#include "sluice/operators/math/unary/unary_row.h"

namespace sluice::testing {

// Moves a number into the range of a row's examples; kSpacing / 2 keeps float64
// off the kinks, which are multiples of 1/2.
inline double InDomain(operators::math::Domain domain, double value) {
  constexpr double kAside = ExampleMaker::kSpacing / 2;
  const double sign = value < 0 ? -1 : 1;
  switch (domain) {
    case operators::math::Domain::kAnywhere:
      return value;
    case operators::math::Domain::kNotZero:
      return value + sign * kAside;
    case operators::math::Domain::kNotHalf:
      return 4 * value + sign * kAside;
    case operators::math::Domain::kPositive:
      return std::abs(value) + 0.5;
    case operators::math::Domain::kAboveOne:
      return std::abs(value) + 1.5;
    case operators::math::Domain::kInsideOne:
      return value * 0.4;
    case operators::math::Domain::kAboveMinus1:
      return value * 0.4;
  }
  return value;
}

}  // namespace sluice::testing
