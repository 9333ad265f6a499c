#pragma once

#include <algorithm>
#include <cstddef>

#include "sluice/operators/math/work.h"

namespace sluice::operators::eigen {

// The share of the machine's arithmetic that Eigen can reach: it is compiled
// for vectors of 16 bytes, and where there are wider ones without multiply-add.
// `element` is sizeof(T).
inline double VectorShare(size_t element) {
  constexpr size_t kVectorBytes = 16;
  const double share = static_cast<double>(kVectorBytes / element) /
                       static_cast<double>(math::VectorLanes(element));
  return share < 1 ? share / 2 : 1;
}

}  // namespace sluice::operators::eigen
