#pragma once

#include <map>
#include <string>
#include <vector>

#include "sluice/framework/plan/plan.h"
#include "sluice/platform/export.h"

namespace sluice {

// Runs with additional checks, over the same plan.

// Stops at the first op that makes a number which is not finite, as
// FiniteCheck does: raises Internal and names the op, the output, the numbers
// and the ranges of its inputs. A run that stops writes no persistable.
SLUICE_API std::vector<Tensor> RunNanChecked(const Plan& plan,
                                             const Feeds& feeds,
                                             Scope* scope = nullptr);

// The error of such a run, which uses copies of the persistables.
struct RunFault {
  int op_index = -1;  // of Plan::op_descs
  std::string text;   // "" if all is well
};
SLUICE_API RunFault FindFault(const Plan& plan,
                              const Feeds& feeds,
                              const Scope* scope = nullptr);

// Waits for the device after every instruction (sync_every_op), so that a fault
// is reported at the op that caused it. As RunNanChecked does, it raises
// Internal for a kernel that does not write all of its outputs.
SLUICE_API std::vector<Tensor> RunSynchronised(const Plan& plan,
                                               const Feeds& feeds,
                                               Scope* scope = nullptr);

// Returns every value that a run computes, as host tensors by variable name.
// The run works on copies of the persistables: `scope` is not written.
SLUICE_API std::map<std::string, Tensor> RunKeepingAll(
    const Plan& plan, const Feeds& feeds, const Scope* scope = nullptr);
// Adds these values to `values`, their names to `order`, as they are computed,
// if it is not null, and returns the results of the run, which writes the
// persistables of `scope` as Plan::Run does.
SLUICE_API std::vector<Tensor> RunKeepingAll(
    const Plan& plan,
    const Feeds& feeds,
    Scope* scope,
    std::map<std::string, Tensor>* values,
    std::vector<std::string>* order = nullptr);

}  // namespace sluice
