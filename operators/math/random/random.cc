#include "sluice/operators/math/random/random.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

#include "sluice/operators/math/random/box_muller.h"
#include "sluice/operators/math/random/random_words.h"
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
SLUICE_INSTANTIATE_FLOATS(Dropout);
SLUICE_INSTANTIATE_FLOATS(DropoutGrad);

}  // namespace sluice
