#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sluice/framework/values/tensor.h"
#include "sluice/onnx/load_onnx.h"
#include "sluice/onnx/provider/runtime.h"

namespace sluice::ort {

// Nodes that become one.
using Group = std::vector<const Node*>;

// The tensor over the memory of `value`. Raises Unimplemented for a dtype that
// no kernel computes with.
Tensor Borrowed(const Runtime& runtime, const Value* value);

// The values that a node reads, also in its subgraphs. Absent ones have name
// "".
inline std::vector<const ValueInfo*> ReadBy(const Runtime& runtime,
                                            const Node* node) {
  auto values = runtime.List(kInputs, node);
  const auto captured = runtime.List(kImplicitInputs, node);
  values.insert(values.end(), captured.begin(), captured.end());
  return values;
}

// Some nodes of a graph as a model. Its constant initialisers are not copied:
// they belong to the runtime.
struct GroupModel {
  std::string bytes;
  std::vector<std::pair<std::string, Tensor>> initialisers;
};

// Makes the model of `nodes`, which computes `outputs`. Inputs are the values
// that the nodes read and do not make, except constant initialisers. Raises
// Unimplemented for types and attributes that Sluice lacks.
GroupModel MakeModel(const Runtime& runtime,
                     const Graph* graph,
                     const Group& nodes,
                     const std::vector<const ValueInfo*>& outputs);

// Imports the model. Raises what ParseOnnx raises, and Unimplemented if an
// output is of another dtype than the runtime expects, or a list.
onnx::OnnxModel Import(const Runtime& runtime,
                       const GroupModel& model,
                       const std::vector<const ValueInfo*>& outputs);

}  // namespace sluice::ort
