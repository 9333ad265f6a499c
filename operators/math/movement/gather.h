#pragma once

#include <cstddef>
#include <cstdint>

#include "sluice/platform/export.h"

namespace sluice {

// Returns the position of the first index that is outside [least, size), or -1.
template <typename Index>
SLUICE_API int64_t
FindOutside(const Index* index, int64_t count, int64_t size, int64_t least = 0);

// out[o, i, :] = x[o, index[i], :] for x [outer, size, slice_bytes] and out
// [outer, count, slice_bytes] in host memory, through ParallelFor. Indices must
// be in [-size, size); negative ones count from the end. Index: int32_t or
// int64_t.
template <typename Index>
SLUICE_API void Gather(const void* x,
                       const Index* index,
                       int64_t outer,
                       int64_t size,
                       int64_t count,
                       size_t slice_bytes,
                       void* out);

}  // namespace sluice
