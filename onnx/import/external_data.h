#pragma once

#include <string>

#include "sluice/framework/values/tensor.h"
#include "sluice/onnx/import/import_cost.h"
#include "sluice/onnx/import/messages.h"

namespace sluice::onnx {

// Fills `result`, whose shape is set, with elements of `dtype` from the file
// that `tensor` names. The file must lie in `folder` once all links are
// followed, on both sides; offset and length must lie in it. Raises
// InvalidArgument, NotFound or DataLoss, beginning with `what`, and as
// ImportCost::NeedExternal.
void ReadExternalData(const ::onnx::TensorProto& tensor,
                      const std::string& folder,
                      const std::string& what,
                      platform::DType dtype,
                      ImportCost* cost,
                      framework::Tensor* result);

}  // namespace sluice::onnx
