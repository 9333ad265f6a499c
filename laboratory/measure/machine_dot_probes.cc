#include "sluice/laboratory/measure/machine_dot_probes.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sluice {

#if defined(__x86_64__)

namespace {
constexpr int kSums = 12;
}  // namespace

bool HasInt8Dot() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512vnni") != 0;
}

__attribute__((target("avx512f,avx512vnni"))) double RunInt8Dot(
    int64_t rounds) {
  __m512i x = _mm512_set1_epi8(3);
  const __m512i y = _mm512_set1_epi8(5);
  __m512i sums[kSums];
  for (__m512i& sum : sums) {
    sum = _mm512_setzero_si512();
  }
  for (int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (__m512i& sum : sums) {
      asm volatile("" : "+v"(x));
      sum = _mm512_dpbusd_epi32(sum, x, y);
    }
  }
  for (__m512i& sum : sums) {
    asm volatile("" : "+v"(sum));
  }
  return static_cast<double>(rounds) * kSums * 2 * 64;
}

bool HasBfloat16Dot() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512bf16") != 0;
}

__attribute__((target("avx512f,avx512bf16"))) double RunBfloat16Dot(
    int64_t rounds) {
  __m512bh x = (__m512bh)_mm512_set1_epi16(0x3F80);
  const __m512bh y = (__m512bh)_mm512_set1_epi16(0x3A83);
  __m512 sums[kSums];
  for (__m512& sum : sums) {
    sum = _mm512_setzero_ps();
  }
  for (int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (__m512& sum : sums) {
      asm volatile("" : "+v"(x));
      sum = _mm512_dpbf16_ps(sum, x, y);
    }
  }
  for (__m512& sum : sums) {
    asm volatile("" : "+v"(sum));
  }
  return static_cast<double>(rounds) * kSums * 2 * 32;
}

#else

bool HasInt8Dot() {
  return false;
}

double RunInt8Dot(int64_t /*rounds*/) {
  return 0;
}

bool HasBfloat16Dot() {
  return false;
}

double RunBfloat16Dot(int64_t /*rounds*/) {
  return 0;
}

#endif

}  // namespace sluice
