#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sluice/framework/plan/plan.h"
#include "sluice/framework/program/program.h"

namespace sluice::onnx {

// Keys and values of metadata_props.
using Properties = std::vector<std::pair<std::string, std::string>>;

// What a plan that was prepared from `program` says of the op that makes
// `variable`: the kernel that computes it, with the ops that it computes
// together, and the time of one call where it was measured. Empty for an op
// that the plan does not have.
Properties NotesOfOp(const framework::Plan& plan,
                     const framework::Program& program,
                     const std::string& variable);

// Of the plan as a whole: the place, the threads, the machine.
Properties NotesOfPlan(const framework::Plan& plan);

}  // namespace sluice::onnx
