#pragma once

#include <string>

#include "sluice/onnx/import/import_cost.h"
#include "sluice/onnx/import/messages.h"

namespace sluice::onnx {

// Fills `result`, whose shape is set, with elements of `dtype` from the file
// that `tensor` names. With links resolved in both paths, the file must be in
// `folder`; offset and length must be within the file. Raises InvalidArgument,
// NotFound or DataLoss, beginning with `what`, and what
// ImportCost::NeedExternal raises.
void ReadExternalData(const TensorProto& tensor,
                      const std::string& folder,
                      const std::string& what,
                      DType dtype,
                      ImportCost* cost,
                      Tensor* result);

}  // namespace sluice::onnx
