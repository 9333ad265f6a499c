#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sluice/onnx/import/import_cost.h"
#include "sluice/onnx/import/messages.h"

namespace sluice::onnx {

// Computes output `argument` of an op whose inputs, by argument, are constants.
// Returns nothing if that exceeds the memory or operations left in `cost`.
// Raises what RunOp raises.
std::optional<Tensor> ComputeConstant(
    const std::string& op,
    const std::vector<std::pair<std::string, Tensor>>& inputs,
    const AttributeMap& attributes,
    const std::string& argument,
    ImportCost* cost);

}  // namespace sluice::onnx
