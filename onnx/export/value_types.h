#pragma once

#include <map>
#include <string>
#include <vector>

#include "sluice/framework/op/op_desc.h"
#include "sluice/onnx/import/messages.h"

namespace sluice::onnx {

// The dtype and shape of a variable, as a value of the model.
void SetType(const framework::VarDesc& var,
             const std::string& name,
             ::onnx::ValueInfoProto* to);

// Names the sizes that inputs leave open: as `given` says by input and dim,
// else "batch" where there is only one whose first size is open, else by input
// and dim, for nobody says that two are equal. Raises InvalidArgument for names
// of what is no input, and for another number of names than the input has dims.
void NameSizes(const std::map<std::string, std::vector<std::string>>& given,
               ::onnx::GraphProto* graph);

}  // namespace sluice::onnx
