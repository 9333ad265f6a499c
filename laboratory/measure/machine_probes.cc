#include "sluice/laboratory/measure/machine_probes.h"

#include <cstddef>

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace sluice {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Enough independent sums for two units with a latency of four cycles, and few
// enough for sixteen registers.
constexpr int kSums = 10;

#undef SLUICE_ANY_VECTOR
#if HWY_TARGET <= HWY_AVX3
#define SLUICE_ANY_VECTOR "+v"
#else
#define SLUICE_ANY_VECTOR "+x"
#endif

// Makes the compiler treat the register as changed, at no run-time cost.
template <class V>
HWY_INLINE void Renew(V& v) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_EMU128 && HWY_TARGET != HWY_SCALAR
  asm volatile("" : SLUICE_ANY_VECTOR(v.raw));
#else
  asm volatile("" : : "r"(&v) : "memory");
#endif
}

// `step` adds the products of one vector to a sum.
template <class V, class Step>
HWY_INLINE void RunSums(int64_t rounds, V zero, Step step) {
  V sums[kSums];
  HWY_UNROLL(10)
  for (int i = 0; i < kSums; ++i) {
    sums[i] = zero;
  }
  for (int64_t round = 0; round < rounds; ++round) {
    HWY_UNROLL(10)
    for (int i = 0; i < kSums; ++i) {
      step(sums[i]);
    }
  }
  HWY_UNROLL(10)
  for (int i = 0; i < kSums; ++i) {
    Renew(sums[i]);
  }
}

template <typename T>
HWY_INLINE double RunFloats(int64_t rounds) {
  const hn::ScalableTag<T> d;
  auto x = hn::Set(d, T{3});
  const auto y = hn::Set(d, static_cast<T>(1e-3));
  RunSums(rounds, hn::Zero(d), [&](auto& sum) HWY_ATTR {
    Renew(x);
    sum = hn::MulAdd(x, y, sum);
  });
  return static_cast<double>(rounds) * kSums * 2 *
         static_cast<double>(hn::Lanes(d));
}

double RunFloat32(int64_t rounds) {
  return RunFloats<float>(rounds);
}

double RunFloat64(int64_t rounds) {
#if HWY_HAVE_FLOAT64
  return RunFloats<double>(rounds);
#else
  return RunFloats<float>(rounds);
#endif
}

// Widens to 16 bits, like kernels without instructions for bytes.
double RunInt8(int64_t rounds) {
  const hn::ScalableTag<int32_t> d32;
#if HWY_TARGET == HWY_SCALAR
  auto x = hn::Set(d32, 3);
  const auto y = hn::Set(d32, 5);
  constexpr int kProducts = 1;
  RunSums(rounds, hn::Zero(d32), [&](auto& sum) HWY_ATTR {
    Renew(x);
    sum = hn::Add(sum, hn::Mul(x, y));
  });
#else
  const hn::Repartition<int16_t, decltype(d32)> d16;
  auto x = hn::Set(d16, int16_t{3});
  const auto y = hn::Set(d16, int16_t{5});
  auto unused = hn::Zero(d32);
  constexpr int kProducts = 2;
  RunSums(rounds, hn::Zero(d32), [&](auto& sum) HWY_ATTR {
    Renew(x);
    sum = hn::ReorderWidenMulAccumulate(d32, x, y, sum, unused);
  });
  Renew(unused);
#endif
  return static_cast<double>(rounds) * kSums * 2 * kProducts *
         static_cast<double>(hn::Lanes(d32));
}

// Splits each word into two float32, like kernels without instructions for
// bfloat16.
double RunBfloat16(int64_t rounds) {
  const hn::ScalableTag<float> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  auto words = hn::Set(du, uint32_t{0x40403F80});
  const auto y = hn::Set(d, 1e-3F);
  const auto high = hn::Set(du, uint32_t{0xFFFF0000});
  RunSums(rounds, hn::Zero(d), [&](auto& sum) HWY_ATTR {
    Renew(words);
    const auto even = hn::BitCast(d, hn::ShiftLeft<16>(words));
    const auto odd = hn::BitCast(d, hn::And(words, high));
    sum = hn::MulAdd(odd, y, hn::MulAdd(even, y, sum));
  });
  return static_cast<double>(rounds) * kSums * 4 *
         static_cast<double>(hn::Lanes(d));
}

void Read(const float* values, int64_t count) {
  const hn::ScalableTag<float> d;
  constexpr int kStreams = 8;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<decltype(d)> sums[kStreams];
  HWY_UNROLL(8)
  for (int i = 0; i < kStreams; ++i) {
    sums[i] = hn::Zero(d);
  }
  for (int64_t at = 0; at + kStreams * lanes <= count; at += kStreams * lanes) {
    HWY_UNROLL(8)
    for (int i = 0; i < kStreams; ++i) {
      sums[i] = hn::Add(sums[i], hn::Load(d, values + at + i * lanes));
    }
  }
  HWY_UNROLL(8)
  for (int i = 0; i < kStreams; ++i) {
    Renew(sums[i]);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sluice {
namespace {

HWY_EXPORT(RunFloat32);
HWY_EXPORT(RunFloat64);
HWY_EXPORT(RunInt8);
HWY_EXPORT(RunBfloat16);
HWY_EXPORT(Read);

#if defined(__x86_64__)
// For instructions that multiply short numbers and add neighbouring products:
// AVX-512 VNNI for bytes, AVX-512 BF16.
constexpr int kDotSums = 12;

bool HasInt8Dot() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512vnni") != 0;
}

__attribute__((target("avx512f,avx512vnni"))) double RunInt8Dot(
    int64_t rounds) {
  __m512i x = _mm512_set1_epi8(3);
  const __m512i y = _mm512_set1_epi8(5);
  __m512i sums[kDotSums];
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
  return static_cast<double>(rounds) * kDotSums * 2 * 64;
}

bool HasBfloat16Dot() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512bf16") != 0;
}

__attribute__((target("avx512f,avx512bf16"))) double RunBfloat16Dot(
    int64_t rounds) {
  __m512bh x = (__m512bh)_mm512_set1_epi16(0x3F80);
  const __m512bh y = (__m512bh)_mm512_set1_epi16(0x3A83);
  __m512 sums[kDotSums];
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
  return static_cast<double>(rounds) * kDotSums * 2 * 32;
}
#endif

}  // namespace

double RunFloat32Probe(int64_t rounds) {
  return HWY_DYNAMIC_DISPATCH(RunFloat32)(rounds);
}

double RunFloat64Probe(int64_t rounds) {
  return HWY_DYNAMIC_DISPATCH(RunFloat64)(rounds);
}

double RunInt8Probe(int64_t rounds) {
#if defined(__x86_64__)
  if (HasInt8Dot()) return RunInt8Dot(rounds);
#endif
  return HWY_DYNAMIC_DISPATCH(RunInt8)(rounds);
}

double RunBfloat16Probe(int64_t rounds) {
#if defined(__x86_64__)
  if (HasBfloat16Dot()) return RunBfloat16Dot(rounds);
#endif
  return HWY_DYNAMIC_DISPATCH(RunBfloat16)(rounds);
}

void RunReadProbe(const float* values, int64_t count) {
  HWY_DYNAMIC_DISPATCH(Read)(values, count);
}

}  // namespace sluice
#endif  // HWY_ONCE
