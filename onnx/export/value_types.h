#pragma once

#include <map>
#include <string>
#include <vector>

#include "sluice/onnx/import/messages.h"

namespace sluice::onnx {

// Sets the dtype and shape of a variable as a value of the model.
void SetType(const VarDesc& var,
             const std::string& name,
             ::onnx::ValueInfoProto* to);

// Names unknown sizes of inputs: by `given`, for input and dim; else "batch" if
// only one input has an unknown first size; else by input and dim, because no
// two are known to be equal. Raises InvalidArgument if a name is not an input,
// or the number of names differs from the number of dims.
void NameSizes(const std::map<std::string, std::vector<std::string>>& given,
               GraphProto* graph);

}  // namespace sluice::onnx
