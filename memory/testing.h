#pragma once

#include <cstddef>
#include <cstdint>

#include "sluice/platform/export.h"

// Hooks for tests: memory that fails on demand and memory that shows whoever
// reads it before writing. They are in every build, cost one load each when
// they are off, and may be called from any thread.
namespace sluice::memory {

enum class FailMode {
  kOnce,     // the k-th allocation finds nothing; its retry may succeed
  kFromKOn,  // nor does any later one, retried or not
};

// Counts every memory::Alloc from now on (and every operator new in programs
// that link the counting one of the tests) and fails the k-th, k = 1 being the
// next. With k = 0 it only counts.
SLUICE_API void FailAllocation(int64_t k, FailMode mode);
// Ends counting and failing; the count stays to be read.
SLUICE_API void CancelFailAllocation();
// Allocations counted since the last FailAllocation.
SLUICE_API int64_t AllocationCount();

// Fills all memory that Alloc returns, on any place, and host memory that Free
// takes, with kPoison.
SLUICE_API void SetFillFreshMemory(bool fill);

// A NaN in every floating type, wherever the reader starts: signalling as a
// float64, as every second float32 and as a bfloat16 of three in four. (No
// bits are signalling as a float64 and as both of its float32 halves.)
inline constexpr uint64_t kPoison = 0x7FF47FA77FA77FA7u;

namespace internal {

enum class Verdict { kPass, kFailOnce, kFail };

// Counts one allocation and says whether it must fail.
SLUICE_API Verdict CountAllocation() noexcept;
SLUICE_API bool FillFreshMemory() noexcept;
// Writes kPoison to `bytes` bytes of host memory, 8-byte aligned.
SLUICE_API void FillWithPoison(void* pointer, size_t bytes) noexcept;

}  // namespace internal
}  // namespace sluice::memory
