#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/framework/values/scope.h"
#include "sluice/onnx/import/messages.h"

namespace sluice::onnx {

using Parameters = std::vector<std::pair<std::string, Tensor>>;

// The values of the program's persistable variables, on the host. Takes the
// scope's lock. Raises FailedPrecondition, naming those without a value, and
// InvalidArgument for one of another dtype or shape.
Parameters ParametersOf(const Program& program, const Scope& scope);
uint64_t BytesOf(const Parameters& parameters);

// Adds the parameters to the graph as initialisers. If `file` names a file
// beside the model, large ones refer to it; the result is its content, in
// memory that the parameters own.
std::vector<std::string_view> AddParameters(const Parameters& parameters,
                                            const std::string& file,
                                            GraphProto* graph);

}  // namespace sluice::onnx
