#include "sluice/framework/costs/machine.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "sluice/framework/files/checksum.h"
#include "sluice/platform/cpu/cpu_info.h"
#include "sluice/platform/error.h"

namespace sluice {
namespace {

// Virtual machines often hide the processor's name, but not these numbers
// (Intel SDM, CPUID leaf 1). Returns "" except on x86.
std::string Model() {
#if defined(__x86_64__)
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0) {
    const unsigned base_family = (eax >> 8) & 0xF;
    unsigned family = base_family;
    unsigned model = (eax >> 4) & 0xF;
    if (base_family == 0xF) family += (eax >> 20) & 0xFF;
    if (base_family == 0xF || base_family == 6) model += (eax >> 12) & 0xF0;
    return Format(" (family {}, model {}, stepping {})", family, model,
                  eax & 0xF);
  }
#endif
  return "";
}

// Highway's names are not used, because they depend on its version.
std::string InstructionSets() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  std::string names;
  const auto add = [&names](bool has, const char* name) {
    if (has) names += (names.empty() ? "" : " ") + std::string(name);
  };
  add(__builtin_cpu_supports("sse4.2") != 0, "sse4.2");
  add(__builtin_cpu_supports("avx2") != 0, "avx2");
  add(__builtin_cpu_supports("fma") != 0, "fma");
  add(__builtin_cpu_supports("avx512f") != 0, "avx512f");
  add(__builtin_cpu_supports("avx512bw") != 0, "avx512bw");
  add(__builtin_cpu_supports("avx512vl") != 0, "avx512vl");
  add(__builtin_cpu_supports("avx512vnni") != 0, "avx512vnni");
  add(__builtin_cpu_supports("avx512bf16") != 0, "avx512bf16");
  return names;
#else
  return std::string(CpuInstructionSet());
#endif
}

}  // namespace

const MachineName& MachineId() {
  static const MachineName kName = [] {
    MachineName name;
    name.text = CpuName() + Model() + ", " + InstructionSets();
    name.hash = Format("{:016x}", Checksum(name.text.data(), name.text.size()))
                    .substr(0, 12);
    return name;
  }();
  return kName;
}

}  // namespace sluice
