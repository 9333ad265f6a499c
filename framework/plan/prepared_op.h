#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sluice/framework/op/op_kernel.h"
#include "sluice/framework/plan/candidates.h"

namespace sluice::framework {

// One op while a plan is prepared: what is known of it, which kernels could
// compute it, and the one that was made for it. Passes, resolver and planner
// work on this value, and Explain shows what it became. Belongs to its Graph;
// used by one thread.
struct PreparedOp : OpFacts {
  std::vector<int> covers;  // ops of the program whose work it does
  std::string pass;         // that made or put in the op; "" as written

  // Set by ChooseKernel; null and -1 before.
  std::shared_ptr<CandidateList> list;
  int chosen = -1;  // in list->candidates
  std::string reason;
  bool fell_back = false;  // to the CPU, for want of a kernel elsewhere
  std::unique_ptr<OpKernel> kernel;  // prepared
  size_t scratch_bytes = 0;

  const Candidate& choice() const { return list->candidates[chosen]; }
};

}  // namespace sluice::framework
