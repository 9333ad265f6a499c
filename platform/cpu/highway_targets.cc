// The two functions of libhwy that Highway's dispatch calls. libsluice and
// libsluice_lab have their own, because a static initializer of libhwy measures
// the resolution of a timer, which took a quarter of the time to the first
// result (design/build.md). The file is compiled without HWY_SHARED_DEFINE, so
// that they stay hidden.

#include <hwy/targets.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace hwy {
namespace {

#if defined(__x86_64__)
// F16C and LZCNT, which clang 14 does not know in __builtin_cpu_supports.
bool HasHalvesAndLeadingZeros() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool f16c = __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
  return f16c && __get_cpuid(0x80000001, &a, &b, &c, &d) != 0 &&
         (c & bit_LZCNT) != 0;
}

// The sets that this CPU and its operating system support, by the features that
// Highway's README demands for each.
int64_t DetectTargets() {
  __builtin_cpu_init();
  int64_t targets = HWY_STATIC_TARGET;
  if (__builtin_cpu_supports("ssse3") == 0) return targets;
  targets |= HWY_SSSE3;
  if (__builtin_cpu_supports("sse4.2") == 0 ||
      __builtin_cpu_supports("aes") == 0 ||
      __builtin_cpu_supports("pclmul") == 0) {
    return targets;
  }
  targets |= HWY_SSE4;
  if (__builtin_cpu_supports("avx2") == 0 ||
      __builtin_cpu_supports("fma") == 0 ||
      __builtin_cpu_supports("bmi") == 0 ||
      __builtin_cpu_supports("bmi2") == 0 || !HasHalvesAndLeadingZeros()) {
    return targets;
  }
  targets |= HWY_AVX2;
  if (__builtin_cpu_supports("avx512f") == 0 ||
      __builtin_cpu_supports("avx512bw") == 0 ||
      __builtin_cpu_supports("avx512cd") == 0 ||
      __builtin_cpu_supports("avx512dq") == 0 ||
      __builtin_cpu_supports("avx512vl") == 0) {
    return targets;
  }
  targets |= HWY_AVX3;
  if (__builtin_cpu_supports("avx512vnni") == 0 ||
      __builtin_cpu_supports("avx512vbmi2") == 0) {
    return targets;
  }
  targets |= HWY_AVX3_DL;
#if defined(HWY_AVX3_ZEN4)
  if (__builtin_cpu_supports("avx512bf16") != 0) targets |= HWY_AVX3_ZEN4;
#endif
  return targets;
}
#else
int64_t DetectTargets() {
  return HWY_STATIC_TARGET;
}
#endif

}  // namespace

// Weak, so that a program with the static library may link a libhwy of its own.
__attribute__((weak)) int64_t SupportedTargets() {
  static const int64_t kTargets = DetectTargets();
  return kTargets;
}

__attribute__((weak)) ChosenTarget& GetChosenTarget() {
  static ChosenTarget chosen;
  return chosen;
}

}  // namespace hwy
