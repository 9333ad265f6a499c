#pragma once

#include <vector>

#include "sluice/operators/registration.h"

namespace sluice {

// The shape of Out while the numbers of input Shape, an Operand for attribute
// "shape", are not known: as many sizes as Shape has.
inline void LateShapeOfVector(InferShapeContext& context) {
  const int64_t rank = context.WithRank(context.input("Shape"), 1).dims[0];
  const bool known = rank >= 0 && rank <= DDim::kMaxRank;
  context.SetOutput("Out", known ? DDim(std::vector<int64_t>(
                                       static_cast<size_t>(rank), kUnknownDim))
                                 : DDim::UnknownRank());
}

}  // namespace sluice
