#pragma once

#include <cstdint>
#include <string>

#include "sluice/onnx/import/element_source.h"
#include "sluice/onnx/import/import_cost.h"
#include "sluice/onnx/import/messages.h"
#include "sluice/platform/export.h"

namespace sluice::onnx {

// The shape of a tensor. Raises InvalidArgument for negative sizes or too many
// elements, and Unimplemented for too many dims, beginning with `what`.
DDim DimsOf(const TensorProto& tensor, const std::string& what);

// The dtype of ONNX's TensorProto::DataType. Raises Unimplemented, beginning
// with `what`, for one that Sluice lacks, and InvalidArgument for an invalid
// number.
SLUICE_API DType ToDType(int data_type, const std::string& what);

// The TensorProto::DataType of a dtype.
SLUICE_API int OnnxDataType(DType dtype);

// The values of `tensor`, on the host. `source`, if not null, has elements that
// are not in the message. `what` names the tensor in errors. Raises what
// LoadOnnx raises.
Tensor ToTensor(const TensorProto& tensor,
                const ElementSource* source,
                const std::string& what,
                ImportCost* cost);

// The values of a sparse tensor, with 0 for missing elements.
Tensor ToDense(const ::onnx::SparseTensorProto& sparse,
               const std::string& what,
               ImportCost* cost);

// Numbers of 4 and 2 bits. ONNX's files store two or four in a byte, the first
// in the lowest bits, and pad the last byte. In memory each has a byte.
// The bytes of `count` elements in a file; `count` is at most 2^59.
uint64_t BytesInFile(DType dtype, int64_t count);

// Unpacks `count` elements in place. `data` begins with the bytes of a file and
// has room for all elements. Dtypes that are not packed are not changed.
void UnpackInPlace(DType dtype, int64_t count, void* data);

// Whether elements of a dtype share bytes in a file.
bool IsPacked(DType dtype);
// The file's bytes for the elements of a tensor on the host.
std::string PackedBytes(const Tensor& value);

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
