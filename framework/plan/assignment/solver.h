#pragma once

#include <cstdint>
#include <vector>

#include "sluice/framework/plan/assignment/pairwise.h"

namespace sluice::framework::assignment {

struct Effort {
  int64_t table_entries = 0;
  int64_t table_entries_per_node = 0;
  int64_t sweeps = 0;
};

enum class Outcome {
  kSolved,
  kInfeasible,  // proved
  kNotFound,    // nothing allowed found, and nothing proved
};

struct Solution {
  Outcome outcome = Outcome::kSolved;
  std::vector<int> choice;  // only where it is solved, like the rest
  double lower_bound = 0;
  bool exact = true;
};

// Reduces the problem, solves each connected component of what remains, and
// chooses for the rest.
Solution SolvePairwise(const Pairwise& problem, const Effort& effort);

}  // namespace sluice::framework::assignment
