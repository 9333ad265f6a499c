#include "sluice/operators/random/random_words.h"

// Each lane of a vector computes a block.
//
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace sluice {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR
using Words = hn::Vec<hn::ScalableTag<uint32_t>>;

// Computes the upper and lower halves of x * y for each lane.
HWY_INLINE void Multiply(Words x, Words y, Words* high, Words* low) {
  const hn::ScalableTag<uint32_t> d;
  const hn::Repartition<uint64_t, decltype(d)> wide;
  const auto even = hn::MulEven(x, y);
  const auto odd =
      hn::MulEven(hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, x))), y);
  *low =
      hn::OddEven(hn::BitCast(d, hn::ShiftLeft<32>(odd)), hn::BitCast(d, even));
  *high = hn::OddEven(hn::BitCast(d, odd),
                      hn::BitCast(d, hn::ShiftRight<32>(even)));
}

// Computes one block per lane. The lower word of the blocks' numbers must not
// overflow.
HWY_INLINE void VectorOfBlocks(const RandomStream& stream,
                               uint64_t first,
                               uint32_t* words) {
  const hn::ScalableTag<uint32_t> d;
  const PhiloxCounter counter = stream.Counter(first);
  Words c0 = hn::Add(hn::Iota(d, 0), hn::Set(d, counter.word[0]));
  Words c1 = hn::Set(d, counter.word[1]);
  Words c2 = hn::Set(d, counter.word[2]);
  Words c3 = hn::Set(d, counter.word[3]);
  auto key0 = static_cast<uint32_t>(stream.seed);
  auto key1 = static_cast<uint32_t>(stream.seed >> 32);
  for (int round = 0; round < 10; ++round) {
    Words high0, low0, high1, low1;
    Multiply(c0, hn::Set(d, 0xD2511F53), &high0, &low0);
    Multiply(c2, hn::Set(d, 0xCD9E8D57), &high1, &low1);
    c0 = hn::Xor(hn::Xor(high1, c1), hn::Set(d, key0));
    c1 = low1;
    c2 = hn::Xor(hn::Xor(high0, c3), hn::Set(d, key1));
    c3 = low0;
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  hn::StoreInterleaved4(c0, c1, c2, c3, d, words);
}
#endif

void RunRandomWords(const RandomStream& stream,
                    uint64_t first,
                    int64_t blocks,
                    uint32_t* words) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  constexpr int64_t kLanes = hn::MaxLanes(hn::ScalableTag<uint32_t>());
  const bool overflows =
      (first >> 32) != ((first + static_cast<uint64_t>(blocks)) >> 32);
  for (; !overflows && i + kLanes <= blocks; i += kLanes) {
    VectorOfBlocks(stream, first + static_cast<uint64_t>(i), words + 4 * i);
  }
#endif
  for (; i < blocks; ++i) {
    const PhiloxCounter block = stream.Block(first + static_cast<uint64_t>(i));
    for (int l = 0; l < 4; ++l) {
      words[4 * i + l] = block.word[l];
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sluice
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice {
namespace {
HWY_EXPORT(RunRandomWords);
}  // namespace

void RandomWords(const RandomStream& stream,
                 uint64_t first,
                 int64_t blocks,
                 uint32_t* words) {
  HWY_DYNAMIC_DISPATCH(RunRandomWords)(stream, first, blocks, words);
}

}  // namespace sluice
#endif  // HWY_ONCE
