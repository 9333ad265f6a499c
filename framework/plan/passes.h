#pragma once

#include <string>
#include <vector>

#include "sluice/framework/plan/graph.h"

namespace sluice::framework {

// Runs the passes that are registered, in their order. Returns a remark for
// each that changed something.
std::vector<std::string> RunPasses(Graph* graph);

}  // namespace sluice::framework
