#pragma once

#include <cstddef>
#include <vector>

#include "sluice/platform/export.h"

namespace sluice {

class Plan;
struct Instruction;

// The last instructions of a plan, if none of them can fail: kernels on the
// host that say so (CommitKernel), then copies on the host. A run that is not
// observed does them all or none, so that they may change persistables in
// place. A plan with hooks, which may raise after an instruction, has no
// commit.
struct SLUICE_API PlanCommit {
  PlanCommit() = default;
  // Finds the commit of a plan whose other members are all set.
  explicit PlanCommit(const Plan& plan);

  // The first instruction; the number of instructions if there is no update.
  size_t begin = 0;
  // All of them, in an order in which they may run.
  std::vector<const Instruction*> steps;
  // How many of the first steps may run side by side, and are so small that a
  // thread for each is better than several threads for one.
  size_t together = 0;
  // By slot: for the new value of a persistable, the slot of the former one, if
  // the op may write to its memory; -1 for all others.
  std::vector<int> replaced;

 private:
  void FindReplaced(const Plan& plan, size_t first);
  bool AreIndependent(const Plan& plan) const;
  void OrderSteps(const Plan& plan);
};

}  // namespace sluice
