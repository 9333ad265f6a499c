#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace sluice {

class Plan;

// The last instructions of a plan, if none of them can fail: kernels on the
// host that say so (CommitKernel), then copies on the host. A run that is not
// observed does them all or none, so that they may change persistables in
// place. A plan with hooks, which may raise after an instruction, has no
// commit.
struct PlanCommit {
  explicit PlanCommit(const Plan& plan);

  // The first instruction; the number of instructions if there is no update.
  size_t begin = 0;
  // By slot: for the new value of a persistable, the slot of the former one, if
  // the op may write to its memory; -1 for all others.
  std::vector<int> replaced;
};

}  // namespace sluice
