#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "sluice/platform/export.h"

// Flags that stop long work: one of the process, e.g. for Ctrl-C, and others
// for the runs of single threads. All functions may be called from any thread.
namespace sluice {

namespace internal {
// How many flags are set.
SLUICE_API extern std::atomic<int> cancel_requests;
SLUICE_API bool ThisThreadIsCancelled();
}  // namespace internal

// Stops every run of this process at its next instruction with a
// FailedPrecondition error, until it is called with false. For Ctrl-C handlers.
SLUICE_API void SetCancelRequested(bool requested);
// For long work between two instructions.
inline bool CancelRequested() {
  return internal::cancel_requests.load(std::memory_order_relaxed) != 0 &&
         internal::ThisThreadIsCancelled();
}

// Raises FailedPrecondition while CancelRequested().
SLUICE_API void CheckCancelled();

// Stops runs like SetCancelRequested, but only those of threads that are within
// a CancelGuard for it. It must outlive its guards.
class SLUICE_API CancelFlag {
 public:
  CancelFlag() = default;
  ~CancelFlag() { Set(false); }
  CancelFlag(const CancelFlag&) = delete;
  CancelFlag& operator=(const CancelFlag&) = delete;

  void Set(bool requested);
  bool requested() const { return requested_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> requested_{false};
};

// While it exists, the flag stops the runs of its thread, instead of the flag
// of a guard around it. Work that a run gives to other threads goes on until it
// is done.
class SLUICE_API CancelGuard {
 public:
  explicit CancelGuard(const CancelFlag* flag);
  ~CancelGuard();
  CancelGuard(const CancelGuard&) = delete;
  CancelGuard& operator=(const CancelGuard&) = delete;

 private:
  const CancelFlag* outer_;
};

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
