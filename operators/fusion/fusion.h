#pragma once

#include <string>
#include <vector>

#include "sluice/framework/plan/graph.h"

// What the passes have in common that make one op of a product, a convolution
// or a batch norm and of what follows it.
namespace sluice::operators {

// The one variable of an argument that has one.
inline const std::string& Only(const framework::ArgVars& vars) {
  return vars.front();
}

// The fused op for `first`, and the ops that it takes in.
struct Fusion {
  // Of a mul, a matmul, a conv2d or a batch_norm, or of what a pass made of
  // one.
  Fusion(const framework::OpDesc& first, int id);

  framework::OpDesc op;
  std::string output;
  std::vector<int> ids;

  // What `op` gives that other ops can take in: its schema's first output.
  const std::string& out() const { return Only(op.Output(output)); }
  // Puts an output of `taken` in the place of the present one.
  void TakeIn(int id, const framework::OpDesc& taken, const char* from);
};

// Whether the ops of `fusion` can run where the last of them does: no other op
// reads before that what one of them gives beside the output, a statistic.
bool CanRunLast(const framework::Graph& graph, const Fusion& fusion);

// Takes in the op that alone reads the output, where that adds one number to
// each column of a product or to each channel of an image.
void TakeInBias(const framework::Graph& graph, Fusion* fusion);

}  // namespace sluice::operators
