#pragma once

#include <string>

#include "sluice/framework/values/tensor.h"
#include "sluice/onnx/import/import_cost.h"
#include "sluice/onnx/import/messages.h"
#include "sluice/platform/dtype.h"

namespace sluice::onnx {

// The dtype of ONNX's TensorProto::DataType. Raises Unimplemented, beginning
// with `what`, for one that Sluice lacks, and InvalidArgument for an invalid
// number.
platform::DType ToDType(int data_type, const std::string& what);

// The values of `tensor`, on the host. External data is read from `folder` (""
// for none). `what` names the tensor in errors. Raises what LoadOnnx raises.
framework::Tensor ToTensor(const ::onnx::TensorProto& tensor,
                           const std::string& folder,
                           const std::string& what,
                           ImportCost* cost);

// The values of a sparse tensor, with 0 for missing elements.
framework::Tensor ToDense(const ::onnx::SparseTensorProto& sparse,
                          const std::string& what,
                          ImportCost* cost);

}  // namespace sluice::onnx
