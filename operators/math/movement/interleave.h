#pragma once

#include <cstdint>

namespace sluice::operators::math {

// Interleaves `group` runs of `count` 4-byte elements, one after the other in
// `from`: to[k * group + i] = from[i * count + k]. The same for `rows` such
// blocks, through ParallelFor.
void Interleave(const uint32_t* from,
                int64_t rows,
                int64_t group,
                int64_t count,
                uint32_t* to);

}  // namespace sluice::operators::math
