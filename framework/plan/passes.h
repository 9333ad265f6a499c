#pragma once

#include <string>
#include <vector>

#include "sluice/framework/plan/graph.h"

namespace sluice {

// Runs the registered passes in order, except for those that a hint excludes.
// Returns a remark for each that changed something, that is disabled, or that
// left ops unchanged because of a hint or of predicted times.
std::vector<std::string> RunPasses(Graph* graph);

}  // namespace sluice
