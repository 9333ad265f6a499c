#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sluice/framework/choice/candidates.h"
#include "sluice/framework/choice/reason.h"
#include "sluice/framework/op/op_kernel.h"

namespace sluice {

// The only kernel of an op for which none can be registered.
struct OwnKernel {
  const KernelDef* def = nullptr;  // as Explain shows it
  double seconds = 0;              // predicted
  std::string reason;
  std::function<std::unique_ptr<OpKernel>()> make;
};

// Why an op does not obey a hint; no text if it is not known.
struct WhyNot {
  std::string text;
  bool known_wrong = false;  // a record says so of the kernel
};

// One op while a plan is prepared: its facts, its candidate kernels, and the
// chosen kernel. Passes, resolver and planner work on this value, and Explain
// shows the result. Owned by its Graph; used by one thread.
struct PreparedOp : OpFacts {
  std::vector<int> covers;  // ops of the program that it computes
  std::string pass;         // pass that created it; "" as written

  // Set for block ops; null for others, which have registered kernels.
  std::shared_ptr<const OwnKernel> own_kernel;

  // Set by ChooseKernel; null and -1 before.
  std::shared_ptr<CandidateList> list;
  int chosen = -1;  // in list->candidates
  int second = -1;  // the next best of them, if there is one
  Why why;
  std::string reason;                // `why`, with times
  bool fell_back = false;            // to the CPU, without a kernel elsewhere
  std::unique_ptr<OpKernel> kernel;  // prepared
  size_t scratch_bytes = 0;

  // Predicted seconds of a run with this kernel, with a share of making what it
  // keeps of parameters (KernelWork::kept_bytes) and, where sizes change, of
  // KernelWork::prepare_seconds.
  double SecondsOfRun(const Candidate& candidate) const {
    constexpr double kRuns = 32, kSecondsOfByte = 1e-9;
    const KernelWork& work = candidate.work;
    const double preparing = work.kept_bytes * kSecondsOfByte +
                             (sizes_change ? work.prepare_seconds : 0);
    return candidate.seconds + preparing / kRuns;
  }
  const Candidate& choice() const { return list->candidates[chosen]; }
  bool Fits(const KernelHint& hint, const Candidate& candidate) const {
    return HintFits(hint, *candidate.kernel, candidate.place, list->layout);
  }
};

}  // namespace sluice
