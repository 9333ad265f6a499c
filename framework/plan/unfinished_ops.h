#pragma once

#include <vector>

#include "sluice/framework/plan/plan.h"

namespace sluice {

// Returns the ops whose kernels may still have been running on the device of
// `instruction` (whose `device` is a queue) at that instruction, in plan order
// and including itself: those of that place whose end no wait of the host
// covers, directly or through a queue that waited for another.
std::vector<int> UnfinishedOps(const Plan& plan,
                               const Instruction& instruction);

}  // namespace sluice
