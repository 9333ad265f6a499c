#pragma once

#include <functional>

#include "sluice/onnx/import/messages.h"

namespace sluice::onnx {

// Graphs that are attributes of nodes: branches and bodies of loops. They read
// values of the graphs around them.

// Calls `visit` for each graph that is an attribute of the node.
void VisitSubgraphs(
    const ::onnx::NodeProto& node,
    const std::function<void(const ::onnx::GraphProto&)>& visit);

// Gives values of subgraphs other names where a graph around them, or another
// subgraph, has one of the same name, so that a name means one value in the
// whole model.
void MakeNamesUnique(::onnx::GraphProto* graph);

}  // namespace sluice::onnx
