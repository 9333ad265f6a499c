#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "sluice/framework/run/executor.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// A function that runs one plan, like Plan::Run or RunObserved.
using RunPlan = std::function<std::vector<Tensor>(
    const Plan& plan, const Feeds& feeds, Scope* scope)>;

// Runs `first`, the plan of `feeds` and `fetches`, and then its rest
// (PlanRest): runs the blocks of block ops, prepares the next plan with the
// values known by then, and so on. `executor` keeps all plans, including those
// of blocks, like any other. Values pass from one plan to the next on the host.
// Returns the fetches. Raises what plans raise, with the op that runs a block
// and the number of the iteration, and ResourceExhausted for a loop that
// exceeds its limit.
SLUICE_API std::vector<Tensor> RunStretches(
    Executor& executor,
    const Program& program,
    const std::shared_ptr<const Plan>& first,
    const Feeds& feeds,
    const Fetches& fetches,
    Scope* scope,
    const RunPlan& run_plan = {});

}  // namespace sluice::framework
