#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sluice/platform/export.h"

// Resources of the machine that the process may use. Everything is read once,
// on first use, and kept; every function may be called from any thread.
namespace sluice {

// Returns the processor's own name, e.g. "Intel(R) Xeon(R) Processor", or
// "unknown".
SLUICE_API const std::string& CpuName();

// Returns the best instruction set that Highway finds on this CPU: "AVX3" is
// AVX-512, then "AVX2", "SSE4" and so on. Sluice's kernels use it, or the next
// lower one that they were compiled for.
SLUICE_API std::string_view CpuInstructionSet();

// Returns the number of CPUs that the process may use: those of its affinity
// mask, at most the cgroup's quota (v1 or v2, rounded up), at least 1.
SLUICE_API int AvailableCpus();

// Returns the bytes of memory that the process may use: RAM, or less if a
// cgroup (v1 or v2) of the process or of one of its parents sets a limit.
SLUICE_API int64_t HostMemoryBytes();

// Limits of the cgroups of this process; -1 means no limit.
struct CgroupLimits {
  double cpus = -1;
  int64_t memory_bytes = -1;
};

// Reads the limits from <root>/proc/self/{cgroup,mountinfo} and the files these
// name under <root>. Missing or malformed files count as "no limit". `root` is
// empty except in tests.
SLUICE_API CgroupLimits ReadCgroupLimits(const std::string& root);

}  // namespace sluice
