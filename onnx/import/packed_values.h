#pragma once

#include <cstdint>
#include <string>

#include "sluice/framework/values/tensor.h"
#include "sluice/platform/dtype.h"

// Numbers of 4 and 2 bits: ONNX's files hold two or four in a byte, the first
// in the lowest bits, and fill up the last byte. In memory each has a byte.
namespace sluice::onnx {

// The bytes of `count` elements in a file; `count` is at most 2^59.
uint64_t BytesInFile(platform::DType dtype, int64_t count);

// Makes `count` elements of the bytes of a file that `data`, which has room for
// all elements, begins with. Elements that are not packed stay as they are.
void UnpackInPlace(platform::DType dtype, int64_t count, void* data);

// Whether elements of a dtype share bytes in a file.
bool IsPacked(platform::DType dtype);
// The bytes that a file has for the elements of a tensor on the host.
std::string PackedBytes(const framework::Tensor& value);

}  // namespace sluice::onnx
