#pragma once

#include <cstdint>

#include "sluice/platform/cuda_device_context.h"
#include "sluice/platform/dtype.h"

namespace sluice::nccl {

// Converts floats to integers of their size with the same order, and back. -0
// is below 0, and every NaN is the largest: NCCL's maximum of floats ignores
// NaN. Both enqueue on the context; `from` may be `to`. For float32 and
// float64.
void ToKeys(const CUDADeviceContext& context,
            DType dtype,
            const void* from,
            void* to,
            int64_t count);
void FromKeys(const CUDADeviceContext& context,
              DType dtype,
              void* numbers,
              int64_t count);

}  // namespace sluice::nccl
