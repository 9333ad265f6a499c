#pragma once

#include <string>
#include <vector>

#include "sluice/onnx/import/messages.h"
#include "sluice/onnx/import/value_map.h"
#include "sluice/onnx/load_onnx.h"

namespace sluice::onnx {

// The type of an input of a subgraph by the model, else `otherwise`. Raises
// what AddInputs raises.
ValueType TypeOfInput(const ::onnx::ValueInfoProto& input,
                      const ValueType& otherwise);

// Adds the initialisers, including those of subgraphs, as constants, and
// removes their bytes from the graph. Raises what LoadOnnx raises.
void AddInitialisers(const std::string& folder,
                     GraphProto* graph,
                     ValueMap* values);

// Adds the inputs that are not initialisers as variables to feed, with `model`
// in their locations. Raises Unimplemented for other types than tensors, and
// for dtypes and ranks that Sluice lacks.
std::vector<OnnxValue> AddInputs(const GraphProto& graph,
                                 const std::string& model,
                                 ValueMap* values);

// The outputs, with the dtypes and shapes of their variables, and the model's
// names of unknown sizes.
std::vector<OnnxValue> FindOutputs(const GraphProto& graph, ValueMap* values);

}  // namespace sluice::onnx
