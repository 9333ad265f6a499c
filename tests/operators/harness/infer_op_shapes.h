#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sluice/framework/op/infer_shape_context.h"
#include "sluice/framework/op/op_check.h"
#include "sluice/framework/op/registry.h"

namespace sluice::testing {

// The output shapes that a program infers for an op of float32 inputs; sizes
// and ranks may be unknown.
inline std::map<std::string, DDim> InferOpShapes(
    const std::string& type,
    const std::vector<std::pair<std::string, DDim>>& inputs,
    const AttributeMap& attributes = {}) {
  const OpSchema& schema = Registry::Global().Schema(type);
  OpDesc op;
  op.type = type;
  op.attributes = attributes;
  std::vector<DDim> dims;
  for (const auto& [name, shape] : inputs) {
    if (op.inputs.empty() || op.inputs.back().first != name) {
      op.inputs.push_back({name, {}});
    }
    op.inputs.back().second.push_back(name);
    dims.push_back(shape);
  }
  for (const ArgDef& output : schema.outputs()) {
    op.outputs.push_back({output.name, {output.name}});
  }
  CompleteOp(schema, &op);
  const std::vector<DType> dtypes(dims.size(), DType::kFloat32);
  const auto shapes = InferShapes(schema, op, dims, dtypes);
  std::map<std::string, DDim> result;
  for (size_t i = 0; i < shapes.size(); ++i) {
    result[schema.outputs()[i].name] = shapes[i][0];
  }
  return result;
}

}  // namespace sluice::testing
