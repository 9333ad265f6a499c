#include "sluice/operators/conv/channel_sum.h"

#include <algorithm>

#include "sluice/operators/math/block_sums.h"
#include "sluice/platform/dtype_sets.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

constexpr int64_t kShardElements = int64_t{1} << 15;
// The channels whose sums fit into registers.
constexpr int64_t kGroup = 32;
// With fewer groups than this, threads share chunks of rows instead of groups.
constexpr int64_t kFewGroups = 8;

// Returns the sum of consecutive elements.
template <typename T>
double RowSum(const T* x, int64_t count) {
  constexpr int64_t kBlocks = 32;
  double blocks[kBlocks];
  double sum = 0;
  while (count > 0) {
    const int64_t part = std::min(count, kBlocks * kSumBlock);
    SumBlocks(x, part, blocks);
    for (int64_t i = 0; i * kSumBlock < part; ++i) {
      sum += blocks[i];
    }
    x += part;
    count -= part;
  }
  return sum;
}

// Sums channels [begin, begin + count), at most kGroup, on all threads.
template <typename T>
void LastSumsOfChunks(const T* x,
                      const RowChunks& chunks,
                      int64_t stride,
                      int64_t begin,
                      int64_t count,
                      T* out) {
  double sums[RowChunks::kMost][kGroup] = {};
  ParallelFor(chunks.count, 1, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      AddToColumns(x + chunks.First(i) * stride + begin, chunks.Rows(i), stride,
                   count, sums[i]);
    }
  });
  for (int64_t i = 0; i < count; ++i) {
    double sum = 0;
    for (int64_t chunk = 0; chunk < chunks.count; ++chunk) {
      sum += sums[chunk][i];
    }
    out[begin + i] = static_cast<T>(sum);
  }
}

// Sums channels [begin, begin + count) on the calling thread.
template <typename T>
void LastSums(const T* x,
              int64_t rows,
              int64_t stride,
              int64_t begin,
              int64_t count,
              T* out) {
  double sums[kGroup] = {};
  AddToColumns(x + begin, rows, stride, count, sums);
  for (int64_t i = 0; i < count; ++i) {
    out[begin + i] = static_cast<T>(sums[i]);
  }
}

}  // namespace

template <typename T>
void ChannelSum(const T* x,
                int64_t n,
                int64_t channels,
                int64_t pixels,
                bool channels_last,
                T* out) {
  const int64_t grain =
      std::max<int64_t>(kShardElements / std::max<int64_t>(n * pixels, 1), 1);
  if (channels_last) {
    const int64_t blocks = (channels + kGroup - 1) / kGroup;
    const RowChunks chunks(n * pixels);
    if (blocks < kFewGroups && chunks.count > 1) {
      for (int64_t begin = 0; begin < channels; begin += kGroup) {
        LastSumsOfChunks(x, chunks, channels, begin,
                         std::min(kGroup, channels - begin), out);
      }
      return;
    }
    ParallelFor(blocks, (grain + kGroup - 1) / kGroup,
                [&](int64_t begin, int64_t end) {
                  for (int64_t b = begin; b < end; ++b) {
                    LastSums(x, n * pixels, channels, b * kGroup,
                             std::min(kGroup, channels - b * kGroup), out);
                  }
                });
    return;
  }
  ParallelFor(channels, grain, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      double sum = 0;
      for (int64_t image = 0; image < n; ++image) {
        sum += RowSum(x + (image * channels + c) * pixels, pixels);
      }
      out[c] = static_cast<T>(sum);
    }
  });
}

SLUICE_INSTANTIATE_FLOATS(ChannelSum);

}  // namespace sluice
