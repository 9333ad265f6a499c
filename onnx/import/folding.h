#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sluice/framework/values/attribute.h"
#include "sluice/framework/values/tensor.h"
#include "sluice/onnx/import/import_cost.h"

namespace sluice::onnx {

// Output `argument` of an op whose inputs, by argument, are constants. Nothing
// where that takes more memory or operations than `cost` has left. Raises as
// framework::RunOp.
std::optional<framework::Tensor> ComputeConstant(
    const std::string& op,
    const std::vector<std::pair<std::string, framework::Tensor>>& inputs,
    const framework::AttributeMap& attributes,
    const std::string& argument,
    ImportCost* cost);

}  // namespace sluice::onnx
