#pragma once

#include <cstdint>

namespace sluice {

// Interleaves `group` consecutive runs of `count` 4-byte elements: to[k * group
// + i] = from[i * count + k]. There are `rows` such blocks. Runs through
// ParallelFor.
void Interleave(const uint32_t* from,
                int64_t rows,
                int64_t group,
                int64_t count,
                uint32_t* to);

}  // namespace sluice
