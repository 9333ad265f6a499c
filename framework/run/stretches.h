#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "sluice/framework/run/executor.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// How one plan is run: Plan::Run, or RunObserved.
using RunPlan = std::function<std::vector<Tensor>(
    const Plan& plan, const Feeds& feeds, Scope* scope)>;

// Runs `first`, the plan of `feeds` and `fetches`, and then what it leaves
// (PlanRest): runs the blocks of ops that hold some, prepares the next plan
// with what is known by then, and so on. Plans, those of blocks too, are kept
// by `executor` like any other. Values cross from one plan to the next on the
// host. Returns the fetches. Raises what plans raise, with the op that runs a
// block and the number of the iteration, and ResourceExhausted for a loop that
// does not end.
SLUICE_API std::vector<Tensor> RunStretches(
    Executor& executor,
    const Program& program,
    const std::shared_ptr<const Plan>& first,
    const Feeds& feeds,
    const Fetches& fetches,
    Scope* scope,
    const RunPlan& run_plan = {});

}  // namespace sluice::framework
