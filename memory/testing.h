#pragma once

#include <cstddef>
#include <cstdint>

#include "sluice/platform/export.h"

// Hooks for tests: allocations that fail on demand, and a fill pattern that
// exposes reads of uninitialised memory. They are in every build, cost one load
// each when they are off, and may be called from any thread.
namespace sluice {

enum class FailMode {
  kOnce,     // only the k-th allocation fails; its retry may succeed
  kFromKOn,  // all later ones fail as well, also when retried
};

// Counts every Alloc from now on (and every operator new in programs
// that link the tests' counting operator new) and fails the k-th. k = 1 is the
// next one; with k = 0 it only counts.
SLUICE_API void FailAllocation(int64_t k, FailMode mode);
// Ends counting and failing; AllocationCount keeps its value.
SLUICE_API void CancelFailAllocation();
// Returns the allocations counted since the last FailAllocation.
SLUICE_API int64_t AllocationCount();

// Fills with kPoison all memory that Alloc returns, on any place, and the host
// memory that is passed to Free.
SLUICE_API void SetFillFreshMemory(bool fill);

// Reads as a NaN in every floating type, at any offset: signalling as a
// float64, as every second float32 and as a bfloat16 of three in four. (No bits
// are signalling as a float64 and as both of its float32 halves.)
inline constexpr uint64_t kPoison = 0x7FF47FA77FA77FA7u;

namespace internal {

enum class Verdict { kPass, kFailOnce, kFail };

// Counts one allocation and returns whether it must fail.
SLUICE_API Verdict CountAllocation() noexcept;
SLUICE_API bool FillFreshMemory() noexcept;
// Writes kPoison to `bytes` bytes of host memory, which is 8-byte aligned.
SLUICE_API void FillWithPoison(void* pointer, size_t bytes) noexcept;

}  // namespace internal
}  // namespace sluice
