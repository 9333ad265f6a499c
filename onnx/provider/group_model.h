#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sluice/framework/values/tensor.h"
#include "sluice/onnx/load_onnx.h"
#include "sluice/onnx/provider/runtime.h"

namespace sluice::ort {

// The tensor over the memory of `value`. Raises Unimplemented for a value that
// is no tensor on the host, or of a dtype that no kernel computes with.
Tensor Borrowed(const Runtime& runtime, const Value* value);

// The values that a node reads, also in its subgraphs, and those that it makes;
// absent ones are left out.
std::vector<const ValueInfo*> ReadBy(const Runtime& runtime, const Node* node);
std::vector<const ValueInfo*> MadeBy(const Runtime& runtime, const Node* node);

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
                     const std::vector<const Node*>& nodes,
                     const std::vector<const ValueInfo*>& outputs);

// Imports the model. Raises what ParseOnnx raises, and Unimplemented if an
// output is of another dtype than the runtime expects, or a list.
onnx::OnnxModel Import(const Runtime& runtime,
                       const GroupModel& model,
                       const std::vector<const ValueInfo*>& outputs);

}  // namespace sluice::ort
