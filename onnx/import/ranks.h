#pragma once

#include <optional>
#include <string>

#include "sluice/onnx/import/messages.h"
#include "sluice/onnx/import/value_map.h"

namespace sluice::onnx {

// The node with other inputs where the program does not know the rank, but the
// model states it (ValueMap::StateRank), or the operator takes no other: the
// results of ops, located at `location`, that check the rank when they run.
// Returns nullopt if there are no such inputs, or if the node has graphs and
// takes several ranks.
std::optional<NodeProto> WithStatedRanks(const NodeProto& node,
                                         const std::string& location,
                                         ValueMap* values);

}  // namespace sluice::onnx
