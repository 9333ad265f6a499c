#pragma once

#include <string>

#include "sluice/onnx/import/import_cost.h"
#include "sluice/onnx/import/messages.h"

namespace sluice::onnx {

// The dtype of ONNX's TensorProto::DataType. Raises Unimplemented, beginning
// with `what`, for one that Sluice lacks, and InvalidArgument for an invalid
// number.
DType ToDType(int data_type, const std::string& what);

// The TensorProto::DataType of a dtype.
int OnnxDataType(DType dtype);

// The values of `tensor`, on the host. External data is read from `folder` (""
// for none). `what` names the tensor in errors. Raises what LoadOnnx raises.
Tensor ToTensor(const TensorProto& tensor,
                const std::string& folder,
                const std::string& what,
                ImportCost* cost);

// The values of a sparse tensor, with 0 for missing elements.
Tensor ToDense(const ::onnx::SparseTensorProto& sparse,
               const std::string& what,
               ImportCost* cost);

}  // namespace sluice::onnx
