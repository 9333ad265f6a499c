#pragma once

#include <cstdint>
#include <vector>

#include "sluice/framework/plan/plan.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// Where the operands of an op are when a plan reaches it, in runs that follow
// one another.
struct OperandState {
  // By slot of PlannedOp::inputs and outputs: bytes that ops have touched since
  // somebody touched that memory.
  std::vector<int64_t> inputs;
  std::vector<int64_t> outputs;
};

// Of every op of a plan. Values that an arena puts into the same memory count
// as one; results that each run allocates, and parameters that it replaces, as
// last touched in the run before.
SLUICE_API std::vector<OperandState> OperandStates(const Plan& plan);

}  // namespace sluice::framework
