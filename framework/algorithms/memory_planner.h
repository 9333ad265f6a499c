#pragma once

#include <cstddef>
#include <vector>

#include "sluice/platform/export.h"

namespace sluice {

// A block of memory that is in use from instruction `first` to `last`, both
// included. Offsets are multiples of 64.
struct MemoryRequest {
  size_t bytes = 0;
  int first = 0;
  int last = 0;
  size_t offset = 0;  // set by PlanMemory
};

// Assigns offsets such that requests in use at the same time do not overlap,
// and returns the bytes of the whole arena. Raises ResourceExhausted for an
// absurd size (2^60 bytes). Greedy by size with best fit: Pisarchyk and Lee,
// "Efficient memory management for deep neural net inference", 2020, algorithm
// 3. That compares each pair of requests that are in use together. With more
// than 2^25 pairs it uses best fit in order of time, which takes O(n log n).
SLUICE_API size_t PlanMemory(std::vector<MemoryRequest>* requests);

}  // namespace sluice
