#include "sluice/onnx/import/packed_values.h"

#include "sluice/platform/number_format.h"

namespace sluice::onnx {

namespace {

constexpr int kByte = 8;

// 1 where nothing is packed.
int ElementsInAByte(platform::DType dtype) {
  if (!platform::IsStoredNumber(dtype)) return 1;
  return kByte / platform::FormatOf(dtype).bits;
}

}  // namespace

uint64_t BytesInFile(platform::DType dtype, int64_t count) {
  const auto together = static_cast<uint64_t>(ElementsInAByte(dtype));
  const auto elements = static_cast<uint64_t>(count);
  return (elements + together - 1) / together * platform::SizeOf(dtype);
}

void UnpackInPlace(platform::DType dtype, int64_t count, void* data) {
  const int together = ElementsInAByte(dtype);
  if (together == 1) return;
  const int bits = kByte / together;
  const unsigned mask = (1U << bits) - 1;
  auto* bytes = static_cast<uint8_t*>(data);
  // From the last one: none is overwritten before it is read.
  for (int64_t i = count; i-- > 0;) {
    const auto shift = static_cast<int>(i % together) * bits;
    const unsigned packed = bytes[i / together];
    bytes[i] = static_cast<uint8_t>(packed >> shift & mask);
  }
}

}  // namespace sluice::onnx
