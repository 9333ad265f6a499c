#pragma once

#include <map>
#include <string>
#include <vector>

#include "sluice/framework/plan/plan.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// Runs that look closer than the plain loop does, over the same plan.

// Stops at the first op that makes a NaN or an infinity out of finite inputs:
// raises Internal and names the op, the output, the element and its place.
SLUICE_API std::vector<Tensor> RunNanChecked(const Plan& plan,
                                             const Feeds& feeds,
                                             Scope* scope = nullptr);

// Waits for the device after every instruction (sync_every_op): a fault shows
// at the op that made it.
SLUICE_API std::vector<Tensor> RunSynchronised(const Plan& plan,
                                               const Feeds& feeds,
                                               Scope* scope = nullptr);

// Every value that the run made, as host tensors by variable name.
SLUICE_API std::map<std::string, Tensor> RunKeepingAll(const Plan& plan,
                                                       const Feeds& feeds,
                                                       Scope* scope = nullptr);

}  // namespace sluice::framework
