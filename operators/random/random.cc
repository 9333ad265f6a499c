#include "sluice/operators/random/random.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

#include "sluice/operators/random/box_muller.h"
#include "sluice/operators/random/random_words.h"
#include "sluice/platform/dtype_sets.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

// This many blocks of four elements take about 10 us.
constexpr int64_t kBlocks = 4096;
// The words on each thread's stack.
constexpr int64_t kWords = 512;

// Calls use(words, second words, first element, elements) for all elements, in
// whole blocks. There are second words only if kTwo.
template <bool kTwo, typename Use>
void ForEachWords(const RandomStream& stream, int64_t count, const Use& use) {
  ParallelFor((count + 3) / 4, kBlocks, [&](int64_t begin, int64_t end) {
    uint32_t words[kWords], seconds[kTwo ? kWords : 1];
    for (int64_t block = begin; block < end; block += kWords / 4) {
      const int64_t blocks = std::min(kWords / 4, end - block);
      const auto number = static_cast<uint64_t>(block);
      RandomWords(stream, number, blocks, words);
      if constexpr (kTwo) {
        RandomWords(stream, number + RandomStream::kSecondWords, blocks,
                    seconds);
      }
      const int64_t first = 4 * block;
      use(words, seconds, first, std::min(4 * blocks, count - first));
    }
  });
}

// Calls use(words, first element, elements) for all elements.
template <typename Use>
void ForEachWord(const RandomStream& stream, int64_t count, const Use& use) {
  ForEachWords<false>(
      stream, count,
      [&use](const uint32_t* words, const uint32_t* /*seconds*/, int64_t first,
             int64_t elements) { use(words, first, elements); });
}

// p(x) / q(x); the coefficients begin with that of the highest power.
double Ratio(const double (&p)[8], const double (&q)[8], double x) {
  double upper = 0, lower = 0;
  for (int i = 0; i < 8; ++i) {
    upper = upper * x + p[i];
    lower = lower * x + q[i];
  }
  return upper / lower;
}

// Returns the quantile of the normal distribution for the probability 1/2 + q,
// if that is within exp(-25) of neither 0 nor 1. Algorithm AS 241 (Wichura,
// 1988), with a relative error of 1e-16.
double NormalQuantile(double q) {
  constexpr double kCentre[2][8] = {
      {2509.0809287301226727, 33430.575583588128105, 67265.770927008700853,
       45921.953931549871457, 13731.693765509461125, 1971.5909503065514427,
       133.14166789178437745, 3.387132872796366608},
      {5226.495278852854561, 28729.085735721942674, 39307.89580009271061,
       21213.794301586595867, 5394.1960214247511077, 687.1870074920579083,
       42.313330701600911252, 1}};
  constexpr double kSide[2][8] = {
      {7.7454501427834140764e-4, 0.0227238449892691845833,
       0.24178072517745061177, 1.27045825245236838258, 3.64784832476320460504,
       5.7694972214606914055, 4.6303378461565452959, 1.42343711074968357734},
      {1.05075007164441684324e-9, 5.475938084995344946e-4,
       0.0151986665636164571966, 0.14810397642748007459, 0.68976733498510000455,
       1.6763848301838038494, 2.05319162663775882187, 1}};
  if (std::abs(q) <= 0.425) {
    return q * Ratio(kCentre[0], kCentre[1], 0.180625 - q * q);
  }
  const double r = std::sqrt(-std::log(0.5 - std::abs(q))) - 1.6;
  return std::copysign(Ratio(kSide[0], kSide[1], r), q);
}

// There are two loops because g++ vectorizes each of them.
template <typename T>
void KeepSome(const uint32_t* __restrict words,
              uint32_t least,
              T scale,
              int64_t count,
              const T* __restrict x,
              T* __restrict out,
              uint8_t* __restrict mask) {
  using Bits =
      std::conditional_t<sizeof(T) == sizeof(uint32_t), uint32_t, uint64_t>;
  for (int64_t i = 0; i < count; ++i) {
    const Bits all = Bits{0} - static_cast<Bits>(words[i] >= least);
    out[i] = std::bit_cast<T>(std::bit_cast<Bits>(x[i] * scale) & all);
  }
  for (int64_t i = 0; i < count; ++i) {
    mask[i] = words[i] >= least ? 1 : 0;
  }
}

}  // namespace

template <typename T>
void FillUniform(
    const RandomStream& stream, double min, double max, int64_t count, T* out) {
  const double range = max - min;
  const T low = static_cast<T>(min), high = static_cast<T>(max);
  const T last = low < high ? std::nextafter(high, low) : low;
  constexpr bool kTwo = sizeof(T) == sizeof(double);
  ForEachWords<kTwo>(
      stream, count,
      [=](const uint32_t* words, const uint32_t* seconds, int64_t first,
          int64_t elements) {
        for (int64_t i = 0; i < elements; ++i) {
          double u = 0;
          if constexpr (kTwo) {
            u = Uniform53(words[i], seconds[i]);
          } else {
            u = static_cast<double>(words[i]) * (1.0 / 4294967296);
          }
          out[first + i] = std::min(static_cast<T>(min + u * range), last);
        }
      });
}

template <typename T>
void FillNormal(const RandomStream& stream,
                double mean,
                double std,
                int64_t count,
                T* out) {
  const auto use = [=](const uint32_t* words, int64_t first, int64_t elements) {
    for (int64_t i = 0; i < elements; i += 2) {
      const BoxMullerPair pair = BoxMuller(words[i], words[i + 1]);
      const double radius = std::sqrt(pair.square);
      T* to = out + first + i;
      to[0] = static_cast<T>(mean + std * (radius * pair.direction.cosine));
      if (i + 1 == elements) break;
      to[1] = static_cast<T>(mean + std * (radius * pair.direction.sine));
    }
  };
  ForEachWord(stream, count, use);
}

template <typename T>
void FillTruncatedNormal(const RandomStream& stream,
                         double mean,
                         double std,
                         int64_t count,
                         T* out) {
  constexpr double kWithin = 0.95449973610364158;  // P(|z| < 2)
  ForEachWord(stream, count,
              [=](const uint32_t* words, int64_t first, int64_t elements) {
                for (int64_t i = 0; i < elements; ++i) {
                  const double u = (words[i] + 0.5) / 4294967296.0;
                  const double z = NormalQuantile((u - 0.5) * kWithin);
                  out[first + i] = static_cast<T>(mean + std * z);
                }
              });
}

template <typename T>
void Dropout(const RandomStream& stream,
             uint64_t threshold,
             T scale,
             int64_t count,
             const T* x,
             T* out,
             uint8_t* mask) {
  if (threshold >> 32 != 0) {  // larger than any word
    std::fill_n(out, count, T{0});
    std::fill_n(mask, count, uint8_t{0});
    return;
  }
  const auto least = static_cast<uint32_t>(threshold);
  const auto use = [=](const uint32_t* words, int64_t first, int64_t elements) {
    KeepSome(words, least, scale, elements, x + first, out + first,
             mask + first);
  };
  ForEachWord(stream, count, use);
}

template <typename T>
void DropoutGrad(
    T scale, int64_t count, const T* out_grad, const uint8_t* mask, T* x_grad) {
  ParallelFor(count, 8 * kBlocks, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      x_grad[i] = mask[i] != 0 ? out_grad[i] * scale : T{0};
    }
  });
}

SLUICE_INSTANTIATE_FLOATS(FillUniform);
SLUICE_INSTANTIATE_FLOATS(FillNormal);
SLUICE_INSTANTIATE_FLOATS(FillTruncatedNormal);
SLUICE_INSTANTIATE_FLOATS(Dropout);
SLUICE_INSTANTIATE_FLOATS(DropoutGrad);

}  // namespace sluice
