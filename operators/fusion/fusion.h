#pragma once

#include <string>
#include <vector>

#include "sluice/framework/plan/graph.h"

// What the passes have in common that make one op of a product or a convolution
// and of what follows it.
namespace sluice::operators {

// The one variable of an argument that has one.
inline const std::string& Only(const framework::ArgVars& vars) {
  return vars.front();
}

// The fused op for `first`, and the ops that it takes in.
struct Fusion {
  // Of a mul, a matmul or a conv2d, or of what a pass made of one.
  Fusion(const framework::OpDesc& first, int id);

  framework::OpDesc op;
  std::vector<int> ids;

  const std::string& out() const { return Only(op.outputs.front().second); }
  // Puts `op`'s output in the place of the present one.
  void TakeIn(int id, const framework::OpDesc& taken, const char* output);
};

// Takes in the op that alone reads the output, where that adds one number to
// each column of a product or to each channel of an image.
void TakeInBias(const framework::Graph& graph, Fusion* fusion);

}  // namespace sluice::operators
