#pragma once

#include <cstdint>

#include "benchmarks/cuda/fill.h"

#include "sluice/framework/values/tensor.h"
#include "sluice/platform/cuda_device_context.h"

// Device code of the benchmark itself. Everything is enqueued on the context's
// stream.
namespace sluice::bench {

// Fills a float32, float64, int32 or int64 tensor on the device as `fill`
// describes. In 32-bit unsigned arithmetic, with n = 2^32:
//   h = i * 2654435761 + seed * 40503 mod n;  h ^= h >> 16
//   h = h * 0x45d9f3b mod n;                  h ^= h >> 16
//   u = (h >> 8) / 2^24 uniform: low + (high - low) * u, in float64; index: low
//   + floor((high - low)
// * u); runs: floor(high / 2 * u), at odd i with ceil(high / 2) added.
void FillTensor(const CUDADeviceContext& device,
                const Fill& fill,
                Tensor* tensor);

// Counts the NaN and infinite elements of a float32 tensor, and waits.
int64_t CountNotFinite(CUDADeviceContext& device, const Tensor& tensor);

// Subtracts, takes the absolute value and adds, in registers only: the work of
// manhattan_distance for each pair of elements. Returns the number of pairs of
// one call; `small` is for the emulation. `out` has one float.
double EnqueuePairs(const CUDADeviceContext& device,
                    int multiprocessors,
                    bool small,
                    float* out);

}  // namespace sluice::bench
