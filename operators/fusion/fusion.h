#pragma once

#include <string>
#include <vector>

#include "sluice/framework/plan/graph.h"

// Shared by the passes that fuse a product, a convolution or a batch norm with
// the ops after it.
namespace sluice {

// Returns the single variable of an argument.
inline const std::string& Only(const ArgVars& vars) {
  return vars.front();
}

// A fused op under construction, and the ids of the ops that it replaces.
struct Fusion {
  // `first` has a fused form (OpSchema::FusedAs), or is one.
  Fusion(const OpDesc& first, int id);

  OpDesc op;
  std::string output;
  std::vector<int> ids;

  // The output that further ops read: the first one of the schema.
  const std::string& out() const { return Only(op.Output(output)); }
  // Adds op `taken`, whose output `from` replaces the present output.
  void TakeIn(int id, const OpDesc& taken, const char* from);
};

// Whether the fused op can run in the place of its last op: no op before that
// reads another output of the fusion, such as a statistic.
bool CanRunLast(const Graph& graph, const Fusion& fusion);

// Fuses the only reader of the output if that adds one number to each column of
// a product or to each channel of an image.
void TakeInBias(const Graph& graph, Fusion* fusion);

}  // namespace sluice
