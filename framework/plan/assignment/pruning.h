#pragma once

#include <vector>

#include "sluice/framework/plan/assignment/pairwise.h"

namespace sluice::framework::assignment {

// Finds choices that no best assignment needs: those that are forbidden or
// forbid every choice of a neighbour's (arc consistency), and those that
// another choice of the same node beats whatever the neighbours choose (dead
// end elimination: Goldstein, "Efficient rotamer elimination", 1994). Of equal
// choices the one of the smallest index stays. Returns, for each entry of
// problem.costs, whether the choice stays; where nothing stays of a node the
// problem cannot be satisfied. `hint`, an assignment or empty, keeps to choices
// that stay and does not become more expensive.
std::vector<char> Prune(const Pairwise& problem,
                        const Incidence& incidence,
                        std::vector<int>* hint);

}  // namespace sluice::framework::assignment
