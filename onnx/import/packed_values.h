#pragma once

#include <cstdint>
#include <string>

#include "sluice/onnx/import/messages.h"

// Numbers of 4 and 2 bits. ONNX's files store two or four in a byte, the first
// in the lowest bits, and pad the last byte. In memory each has a byte.
namespace sluice::onnx {

// The bytes of `count` elements in a file; `count` is at most 2^59.
uint64_t BytesInFile(DType dtype, int64_t count);

// Unpacks `count` elements in place. `data` begins with the bytes of a file and
// has room for all elements. Dtypes that are not packed are not changed.
void UnpackInPlace(DType dtype, int64_t count, void* data);

// Whether elements of a dtype share bytes in a file.
bool IsPacked(DType dtype);
// The file's bytes for the elements of a tensor on the host.
std::string PackedBytes(const Tensor& value);

}  // namespace sluice::onnx
