#pragma once

#include <vector>

#include "sluice/framework/plan/plan.h"

namespace sluice::framework {

// The ops whose kernels may still have been running on the device of
// `instruction` (whose `device` is a queue) when that was reached, in the order
// of the plan, itself included: those of that place that no wait of the host
// has seen the end of, directly or over a queue that waited for another.
std::vector<int> UnfinishedOps(const Plan& plan,
                               const Instruction& instruction);

}  // namespace sluice::framework
