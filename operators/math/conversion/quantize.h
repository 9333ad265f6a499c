#pragma once

#include <cstdint>

#include "sluice/platform/dtype.h"
#include "sluice/platform/export.h"

// The formulas of quantize_linear and dequantize_linear between float32 and
// integers of 8 or 16 bits, in float32 lanes. They run on the calling thread,
// with the best instruction set of the CPU. The bits of an element do not
// depend on its position.
namespace sluice {

// Element i has scale[i] and zero[i], or all have scale[0] and zero[0]. Zeros
// are within the range of the integers.
struct QuantizeScales {
  const float* scale;
  const int32_t* zero;
  bool single;
};

// Whether the functions below take that dtype of integers.
inline bool QuantizesInLanes(DType dtype) {
  return dtype == DType::kInt8 || dtype == DType::kUInt8 ||
         dtype == DType::kInt16 || dtype == DType::kUInt16;
}

// out[i] = x[i] / scale, rounded to float32 and then to a whole number, ties to
// even (NaN counts as 0), plus zero; past the range of `dtype` its nearest end.
SLUICE_API void QuantizeInLanes(const float* x,
                                QuantizeScales scales,
                                int64_t count,
                                DType dtype,
                                void* out);
// out[i] = (x[i] - zero) * scale, rounded once.
SLUICE_API void DequantizeInLanes(DType dtype,
                                  const void* x,
                                  QuantizeScales scales,
                                  int64_t count,
                                  float* out);

}  // namespace sluice
