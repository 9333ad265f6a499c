#pragma once

#include <string>
#include <vector>

#include "sluice/framework/plan/graph.h"

namespace sluice::framework {

// Runs the passes that are registered, in their order, but for those that a
// hint excludes. Returns a remark for each that changed something, that is off,
// or that left ops alone because of a hint or of predicted times.
std::vector<std::string> RunPasses(Graph* graph);

}  // namespace sluice::framework
