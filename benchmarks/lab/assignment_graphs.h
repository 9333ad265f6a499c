#pragma once

#include <string>
#include <vector>

#include "sluice/framework/plan/assignment/assignment.h"

// Synthetic assignment problems in the forms that networks have.
namespace sluice::bench {

// The ops that each op takes its inputs from, all of them before it.
using OpGraph = std::vector<std::vector<int>>;

struct GraphFamily {
  std::string name;
  OpGraph (*make)(int ops, unsigned seed);
};

// Chain, ResNet, Inception, transformer, U-Net, training (a ResNet with its
// backward pass) and random (up to three inputs out of the 40 ops before).
// Graphs have `ops` ops.
std::vector<GraphFamily> GraphFamilies();

// Each op has 2 to 6 kernels, which take 1 to 2 times the op's own time, 5 to
// 50 us, and have one of 3 layouts; a value that is wanted in another layout
// costs 0.1 to 1.5 times the time of the op that made it.
framework::AssignmentProblem MakeAssignmentProblem(const OpGraph& graph,
                                                   unsigned seed);

}  // namespace sluice::bench
