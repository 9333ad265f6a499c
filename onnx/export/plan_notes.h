#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sluice/framework/plan/plan.h"
#include "sluice/onnx/import/messages.h"

namespace sluice::onnx {

// Keys and values of metadata_props.
using Properties = std::vector<std::pair<std::string, std::string>>;

// Notes of a plan, prepared from `program`, about the op that computes
// `variable`: its kernel, the ops fused with it, and the time of one call if it
// was measured. Empty if the plan lacks the op.
Properties NotesOfOp(const Plan& plan,
                     const Program& program,
                     const std::string& variable);

// Notes about the whole plan: place, threads, machine.
Properties NotesOfPlan(const Plan& plan);

}  // namespace sluice::onnx
