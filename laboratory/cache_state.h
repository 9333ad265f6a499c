#pragma once

#include <cstdint>
#include <vector>

#include "sluice/framework/plan/plan.h"
#include "sluice/platform/export.h"

namespace sluice {

// How far away in the caches the operands of an op are when a plan reaches it,
// in consecutive runs.
struct OperandState {
  // By slot of PlannedOp::inputs and outputs: bytes that ops touched since the
  // last access to that memory.
  std::vector<int64_t> inputs;
  std::vector<int64_t> outputs;
};

// Returns the state of every op of a plan. Values that share arena memory count
// as one. Results that each run allocates, and parameters that it replaces,
// count as last touched in the previous run.
SLUICE_API std::vector<OperandState> OperandStates(const Plan& plan);

}  // namespace sluice
