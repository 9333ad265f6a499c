#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sluice/onnx/import/node.h"

// The trees of the operators TreeEnsemble* while they are read. They take
// memory and time in proportion to the node's attributes.
namespace sluice::onnx {

// A node as op tree_ensemble has it (its docs have the modes), but in any
// order.
struct ForestNode {
  int64_t mode = 0;
  int64_t feature = 0;
  double split = 0;
  int64_t yes = 0;
  int64_t no = 0;
};

struct Forest {
  std::vector<ForestNode> nodes;
  Ints roots;
  Ints targets;  // of the weights
  Doubles weights;
  // What the model calls each node; empty if it counts them.
  Ints tree_ids, node_ids;
};

// Modes of op tree_ensemble: ONNX counts the same comparisons from 0.
inline constexpr int64_t kForestEqual = 5;
inline constexpr int64_t kForestNaNToYes = 8;  // is added

// Raises InvalidArgument unless an attribute has this many elements.
void CheckCount(const char* attribute, size_t count, size_t expected);

// Reads attributes nodes_*, and those of weights at leaves, whose names begin
// with `kind`, "class" or "target". Raises InvalidArgument for nodes that are
// there twice, and for children and weights of nodes that are not there.
Forest ReadForest(Node& node, const std::string& kind);

// Adds op tree_ensemble of rows x. Raises InvalidArgument for cycles, and for
// features and targets out of range.
std::string AppendForest(Node& node,
                         const Forest& forest,
                         const std::string& x,
                         int64_t targets,
                         const std::string& aggregate);

}  // namespace sluice::onnx
