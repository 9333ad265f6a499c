#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "sluice/platform/export.h"

// A flag of the process that stops long work, e.g. after Ctrl-C. All functions
// may be called from any thread.
namespace sluice {

namespace internal {
SLUICE_API extern std::atomic<bool> cancel_requested;
}  // namespace internal

// Stops every run of this process at its next instruction with a
// FailedPrecondition error, until it is called with false. For Ctrl-C handlers.
SLUICE_API void SetCancelRequested(bool requested);
// For long work between two instructions.
inline bool CancelRequested() {
  return internal::cancel_requested.load(std::memory_order_relaxed);
}

// Raises FailedPrecondition while SetCancelRequested(true) holds.
SLUICE_API void CheckCancelled();

// Calls body(begin, end) for [begin, end) in pieces of `piece` items, 1 or
// more, and CheckCancelled before each: for a shard of a ParallelFor that may
// take seconds.
template <typename Body>
void InPieces(int64_t begin, int64_t end, int64_t piece, const Body& body) {
  for (; begin < end; begin += piece) {
    CheckCancelled();
    body(begin, std::min(begin + piece, end));
  }
}

}  // namespace sluice
