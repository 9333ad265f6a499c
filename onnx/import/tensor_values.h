#pragma once

#include <string>

#include "sluice/framework/values/tensor.h"
#include "sluice/onnx/import/import_cost.h"
#include "sluice/onnx/import/messages.h"
#include "sluice/platform/dtype.h"

namespace sluice::onnx {

// The dtype of ONNX's TensorProto::DataType. Raises Unimplemented, beginning
// with `what`, for one that Sluice lacks, InvalidArgument for a number that is
// none.
platform::DType ToDType(int data_type, const std::string& what);

// The values of `tensor`, on the host; external data is looked for in `folder`
// ("" where there is none). `what` names the tensor in errors. Raises as
// LoadOnnx.
framework::Tensor ToTensor(const ::onnx::TensorProto& tensor,
                           const std::string& folder,
                           const std::string& what,
                           ImportCost* cost);

// The same for a sparse tensor: 0 where it has no element.
framework::Tensor ToDense(const ::onnx::SparseTensorProto& sparse,
                          const std::string& what,
                          ImportCost* cost);

}  // namespace sluice::onnx
