#pragma once

#include <cmath>

#include "tests/operators/harness/op_case.h"

#include "sluice/operators/math/unary/unary_row.h"

namespace sluice::testing {

// Moves a number into the range of a row's examples; kSpacing / 2 keeps float64
// off the kinks, which are multiples of 1/2.
inline double InDomain(Domain domain, double value) {
  constexpr double kAside = ExampleMaker::kSpacing / 2;
  const double sign = value < 0 ? -1 : 1;
  switch (domain) {
    case Domain::kAnywhere:
      return value;
    case Domain::kNotZero:
      return value + sign * kAside;
    case Domain::kNotHalf:
      return 4 * value + sign * kAside;
    case Domain::kPositive:
      return std::abs(value) + 0.5;
    case Domain::kAboveOne:
      return std::abs(value) + 1.5;
    case Domain::kInsideOne:
      return value * 0.4;
    case Domain::kAboveMinus1:
      return value * 0.4;
  }
  return value;
}

}  // namespace sluice::testing
