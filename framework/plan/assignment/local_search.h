#pragma once

#include <vector>

#include "sluice/framework/plan/assignment/pairwise.h"

namespace sluice::framework::assignment {

// Changes the choice of one node, or of both nodes of an edge, as long as that
// helps: fewer forbidden choices and pairs, or as many at a lower cost. The
// effort is limited to a multiple of the problem's size.
void Improve(const Pairwise& problem,
             const Incidence& incidence,
             std::vector<int>* choice);

}  // namespace sluice::framework::assignment
