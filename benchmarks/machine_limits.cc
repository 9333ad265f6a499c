#include "benchmarks/machine_limits.h"

#include "benchmarks/bench_util.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "sluice/platform/parallel_for.h"

HWY_BEFORE_NAMESPACE();
namespace sluice::bench {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using V = hn::Vec<Tag>;

#undef SLUICE_ANY_VECTOR
#if HWY_TARGET <= HWY_AVX3
#define SLUICE_ANY_VECTOR "+v"
constexpr int kSums = 16;
#else
#define SLUICE_ANY_VECTOR "+x"
constexpr int kSums = 10;
#endif

// Makes the compiler treat the register as changed, at no run-time cost.
HWY_INLINE void Renew(V& v) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_EMU128 && HWY_TARGET != HWY_SCALAR
  asm volatile("" : SLUICE_ANY_VECTOR(v.raw));
#else
  asm volatile("" : : "r"(&v) : "memory");
#endif
}

double RunDistance(int64_t rounds) {
  const Tag d;
  V sums[kSums];
  HWY_UNROLL(16)
  for (int i = 0; i < kSums; ++i) {
    sums[i] = hn::Zero(d);
  }
  V x = hn::Set(d, 3.0f);
  const V y = hn::Set(d, 0.5f);
  for (int64_t round = 0; round < rounds; ++round) {
    HWY_UNROLL(16)
    for (int i = 0; i < kSums; ++i) {
      Renew(x);
      sums[i] = hn::Add(sums[i], hn::Abs(hn::Sub(x, y)));
    }
  }
  HWY_UNROLL(16)
  for (int i = 0; i < kSums; ++i) {
    Renew(sums[i]);
  }
  return static_cast<double>(rounds * kSums) * hn::MaxLanes(d);
}

double RunGradient(int64_t rounds) {
  constexpr int kPairs = kSums / 2;
  const Tag d;
  V x_sums[kPairs], y_sums[kPairs];
  HWY_UNROLL(8)
  for (int i = 0; i < kPairs; ++i) {
    x_sums[i] = y_sums[i] = hn::Zero(d);
  }
  V x = hn::Set(d, 3.0f), weight = hn::Set(d, 2.0f);
  const V y = hn::Set(d, 0.5f);
  for (int64_t round = 0; round < rounds; ++round) {
    HWY_UNROLL(8)
    for (int i = 0; i < kPairs; ++i) {
      Renew(x);
      V change;
#if HWY_TARGET <= HWY_AVX3
      const auto bits = [](V v) HWY_ATTR { return _mm512_castps_si512(v.raw); };
      change = V{_mm512_castsi512_ps(_mm512_maskz_ternarylogic_epi32(
          _mm512_cmp_ps_mask(x.raw, y.raw, _CMP_NEQ_OQ), bits(weight),
          bits(hn::Sub(x, y)), bits(hn::SignBit(d)), 0x78))};
#else
      change = hn::Sub(hn::IfThenElseZero(hn::Gt(x, y), weight),
                       hn::IfThenElseZero(hn::Lt(x, y), weight));
#endif
      x_sums[i] = hn::Add(x_sums[i], change);
      y_sums[i] = hn::Sub(y_sums[i], change);
    }
  }
  HWY_UNROLL(8)
  for (int i = 0; i < kPairs; ++i) {
    Renew(x_sums[i]);
    Renew(y_sums[i]);
  }
  return static_cast<double>(rounds * kPairs) * hn::MaxLanes(d);
}

void Read(const float* values, int64_t count) {
  const Tag d;
  constexpr int64_t kLanes = hn::MaxLanes(d);
  V a = hn::Zero(d), b = a, c = a, e = a;
  for (int64_t i = 0; i + 4 * kLanes <= count; i += 4 * kLanes) {
    a = hn::Add(a, hn::LoadU(d, values + i));
    b = hn::Add(b, hn::LoadU(d, values + i + kLanes));
    c = hn::Add(c, hn::LoadU(d, values + i + 2 * kLanes));
    e = hn::Add(e, hn::LoadU(d, values + i + 3 * kLanes));
  }
  V all = hn::Add(hn::Add(a, b), hn::Add(c, e));
  Renew(all);
}

}  // namespace HWY_NAMESPACE
}  // namespace sluice::bench
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::bench {
namespace {

HWY_EXPORT(RunDistance);
HWY_EXPORT(RunGradient);
HWY_EXPORT(Read);

// Pairs per second of `run` on all threads, for about 5 ms at a time.
double PairsPerSecond(double (*run)(int64_t), double seconds) {
  constexpr int64_t kRounds = 500'000;
  const int threads = NumThreads();
  double pairs = 0;
  const double median = MedianSeconds(seconds, [&] {
    ParallelFor(threads, 1, [&](int64_t begin, int64_t) {
      const double done = run(kRounds);
      if (begin == 0) pairs = done * threads;
    });
  });
  return pairs / median;
}

}  // namespace

double DistancePairsPerSecond(double seconds) {
  return PairsPerSecond(HWY_DYNAMIC_DISPATCH(RunDistance), seconds);
}

double GradientPairsPerSecond(double seconds) {
  return PairsPerSecond(HWY_DYNAMIC_DISPATCH(RunGradient), seconds);
}

double SecondsToRead(const float* values, int64_t count, double seconds) {
  return MedianSeconds(seconds, [&] {
    ParallelFor(count, 4096, [&](int64_t begin, int64_t end) {
      HWY_DYNAMIC_DISPATCH(Read)(values + begin, end - begin);
    });
  });
}

}  // namespace sluice::bench
#endif  // HWY_ONCE
