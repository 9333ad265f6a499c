#pragma once

#include <cstdint>

#include "sluice/platform/parallel_for.h"

namespace sluice {

// Calls work(slot, begin, end) for one share of the units per slot, in
// parallel. For kernels whose threads need their own memory.
template <typename Work>
void ForEachSlot(int64_t slots, int64_t units, const Work& work) {
  ParallelFor(slots, 1, [&](int64_t begin, int64_t end) {
    for (int64_t slot = begin; slot < end; ++slot) {
      work(slot, slot * units / slots, (slot + 1) * units / slots);
    }
  });
}

}  // namespace sluice
