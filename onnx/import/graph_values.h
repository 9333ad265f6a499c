#pragma once

#include <string>
#include <vector>

#include "sluice/onnx/import/messages.h"
#include "sluice/onnx/import/value_map.h"
#include "sluice/onnx/load_onnx.h"

namespace sluice::onnx {

// What is known of an input of a subgraph: what the model says of it, or else
// `otherwise`. Raises as AddInputs.
ValueType TypeOfInput(const ::onnx::ValueInfoProto& input,
                      const ValueType& otherwise);

// The initialisers, those of subgraphs too, as constants; takes their bytes out
// of the graph. Raises as LoadOnnx.
void AddInitialisers(const std::string& folder,
                     ::onnx::GraphProto* graph,
                     ValueMap* values);

// The inputs that are no initialisers, as variables to be fed. `model` is named
// in their locations. Raises Unimplemented for what is no tensor, and for
// dtypes and ranks that Sluice lacks.
std::vector<OnnxValue> AddInputs(const ::onnx::GraphProto& graph,
                                 const std::string& model,
                                 ValueMap* values);

// The outputs, with the dtypes and shapes of their variables, and the names
// that the model has for sizes that are unknown.
std::vector<OnnxValue> FindOutputs(const ::onnx::GraphProto& graph,
                                   ValueMap* values);

}  // namespace sluice::onnx
