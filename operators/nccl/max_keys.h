#pragma once

#include <cstdint>

#include "sluice/platform/cuda_device_context.h"
#include "sluice/platform/dtype.h"

namespace sluice::operators::nccl {

// Numbers as integers of their size that have the same order, -0 below 0, and
// in which NaN, any of them, is the largest: NCCL's maximum of floating numbers
// loses a NaN. Both enqueue on the context; `from` may be `to`. For float32 and
// float64.
void ToKeys(const platform::CUDADeviceContext& context,
            platform::DType dtype,
            const void* from,
            void* to,
            int64_t count);
void FromKeys(const platform::CUDADeviceContext& context,
              platform::DType dtype,
              void* numbers,
              int64_t count);

}  // namespace sluice::operators::nccl
