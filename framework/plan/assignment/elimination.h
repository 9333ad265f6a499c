#pragma once

#include <cstdint>
#include <vector>

#include "sluice/framework/plan/assignment/pairwise.h"

namespace sluice::framework::assignment {

struct EliminationLimits {
  int64_t entries_of_table = 0;  // choices of a node and of its neighbours
  int64_t entries_of_all = 0;
};

// Solves the problem by eliminating one node after the other, each time the one
// whose table is smallest: the least cost for all choices of its neighbours,
// which become neighbours of each other. False, and nothing set, where a limit
// would be passed; that is found out before any table is computed. `cost` is
// infinite where the problem cannot be satisfied.
bool Eliminate(const Pairwise& problem,
               const Incidence& incidence,
               const EliminationLimits& limits,
               std::vector<int>* choice,
               double* cost);

}  // namespace sluice::framework::assignment
