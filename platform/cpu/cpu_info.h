#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sluice/platform/export.h"

// What the process may use of the machine. Everything is read once, on first
// use, and kept; every function may be called from any thread.
namespace sluice::platform {

// The processor's own name, e.g. "Intel(R) Xeon(R) Processor"; "unknown" where
// it does not say.
SLUICE_API const std::string& CpuName();

// The best instruction set that Highway finds on this CPU: "AVX3" is AVX-512,
// then "AVX2", "SSE4" and so on. Own kernels use it or the next lower one that
// they were compiled for.
SLUICE_API std::string_view CpuInstructionSet();

// CPUs that the process may use: those of its affinity mask, at most the
// cgroup's quota (v1 or v2, rounded up), at least 1.
SLUICE_API int AvailableCpus();

// Bytes of memory that the process may use: RAM, or less where a cgroup (v1 or
// v2) of the process or of one of its parents sets a limit.
SLUICE_API int64_t HostMemoryBytes();

// Limits of the cgroups of this process; -1 stands for no limit.
struct CgroupLimits {
  double cpus = -1;
  int64_t memory_bytes = -1;
};

// Reads them from <root>/proc/self/{cgroup,mountinfo} and the files these name
// under <root>. Files that are missing or odd count as "no limit". `root` is
// empty but in tests.
SLUICE_API CgroupLimits ReadCgroupLimits(const std::string& root);

}  // namespace sluice::platform
