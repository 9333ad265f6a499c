#pragma once

#include <cstddef>
#include <vector>

#include "sluice/platform/export.h"

namespace sluice::framework {

// A block of memory that is in use from instruction `first` to `last`, both
// included. Offsets are multiples of 64.
struct MemoryRequest {
  size_t bytes = 0;
  int first = 0;
  int last = 0;
  size_t offset = 0;  // set by PlanMemory
};

// Gives every request an offset so that no two that are in use at the same
// time overlap, and returns the bytes of the whole arena. Raises
// ResourceExhausted when that is absurd (2^60 bytes). Greedy by size with
// best fit: Pisarchyk and Lee, "Efficient memory management for deep neural
// net inference", 2020, algorithm 3. That compares each pair of requests that
// are in use together; where those are more than 2^25, best fit in the order
// of time, which takes O(n log n).
SLUICE_API size_t PlanMemory(std::vector<MemoryRequest>* requests);

}  // namespace sluice::framework
