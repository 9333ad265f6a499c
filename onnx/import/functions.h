#pragma once

#include "sluice/onnx/import/import_cost.h"
#include "sluice/onnx/import/messages.h"

namespace sluice::onnx {

// Inlines the bodies of the model's functions (ModelProto.functions) at the
// nodes that call them, also inside of functions and subgraphs. A function
// takes precedence over an operator of the same domain and type. A node of a
// body is named after the call ("call/node"), and so are its values. Raises
// - InvalidArgument for duplicate functions, and for a called function with
//   invalid names (CheckNames), that calls itself, or that lacks the inputs,
//   outputs or attributes of the call;
// - Unimplemented for a function of an opset that the importer does not read;
// - InvalidArgument for more than kMostGraphs nested graphs;
// - ResourceExhausted for more than kMostCalls nested functions, and for more
//   memory than `cost` allows.
void InlineFunctions(::onnx::ModelProto* model, ImportCost* cost);

// The opset of the function that a node comes from, or `otherwise`.
int64_t OpsetOfNode(const NodeProto& node, int64_t otherwise);
void SetOpsetOfNode(int64_t opset, NodeProto* node);

}  // namespace sluice::onnx
