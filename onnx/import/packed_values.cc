#include "sluice/onnx/import/packed_values.h"

#include "sluice/platform/number_format.h"

namespace sluice::onnx {

namespace {

constexpr int kByte = 8;

// Returns 1 for dtypes that are not packed.
int ElementsInAByte(DType dtype) {
  if (!IsStoredNumber(dtype)) return 1;
  return kByte / FormatOf(dtype).bits;
}

}  // namespace

uint64_t BytesInFile(DType dtype, int64_t count) {
  const auto together = static_cast<uint64_t>(ElementsInAByte(dtype));
  const auto elements = static_cast<uint64_t>(count);
  return (elements + together - 1) / together * SizeOf(dtype);
}

void UnpackInPlace(DType dtype, int64_t count, void* data) {
  const int together = ElementsInAByte(dtype);
  if (together == 1) return;
  const int bits = kByte / together;
  const unsigned mask = (1U << bits) - 1;
  auto* bytes = static_cast<uint8_t*>(data);
  // Goes backwards, so that no element is overwritten before it is read.
  for (int64_t i = count; i-- > 0;) {
    const auto shift = static_cast<int>(i % together) * bits;
    const unsigned packed = bytes[i / together];
    bytes[i] = static_cast<uint8_t>(packed >> shift & mask);
  }
}

bool IsPacked(DType dtype) {
  return ElementsInAByte(dtype) > 1;
}

std::string PackedBytes(const Tensor& value) {
  const auto* elements = static_cast<const uint8_t*>(value.raw_data());
  const int together = ElementsInAByte(value.dtype());
  if (together == 1) {
    return {reinterpret_cast<const char*>(elements), value.bytes()};
  }
  const int bits = kByte / together;
  const unsigned mask = (1U << bits) - 1;
  std::string packed(BytesInFile(value.dtype(), value.numel()), '\0');
  for (int64_t i = 0; i < value.numel(); ++i) {
    char& byte = packed[static_cast<size_t>(i / together)];
    const unsigned code = (elements[i] & mask) << (i % together * bits);
    byte = static_cast<char>(static_cast<unsigned char>(byte) | code);
  }
  return packed;
}

}  // namespace sluice::onnx
