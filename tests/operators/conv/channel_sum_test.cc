#include "sluice/operators/conv/channel_sum.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "sluice/operators/math/block_sums.h"
#include "sluice/operators/math/softmax.h"
#include "sluice/operators/norm/batch_norm.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

// Enough rows for threads to share them, and not a multiple of a chunk.
constexpr int64_t kRows = 3 * RowChunks::kLeastRows + 1234;

std::vector<float> ChannelSumNumbers(int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = std::sin(static_cast<float>(i)) + 100;
  }
  return values;
}

template <typename Function>
auto WithThreads(int threads, const Function& function) {
  const ThreadCountGuard guard(threads);
  return function();
}

TEST(RowChunks, CoverAllRowsOnce) {
  for (const int64_t rows : {int64_t{0}, int64_t{1}, int64_t{4095}, kRows,
                             int64_t{1} << 20, (int64_t{1} << 20) + 77}) {
    const RowChunks chunks(rows);
    EXPECT_EQ(chunks.First(0), 0);
    EXPECT_EQ(chunks.First(chunks.count), rows);
    EXPECT_LE(chunks.count, RowChunks::kMost);
    for (int64_t i = 0; i + 1 < chunks.count; ++i) {
      EXPECT_GE(chunks.Rows(i), RowChunks::kLeastRows);
    }
  }
}

TEST(ChannelSum, SharedRowsGiveTheSameBitsOnAnyNumberOfThreads) {
  for (const int64_t channels : {1, 5, 33, 64}) {
    const std::vector<float> x = ChannelSumNumbers(kRows * channels);
    const auto sums = [&] {
      std::vector<float> out(static_cast<size_t>(channels));
      ChannelSum(x.data(), 1, channels, kRows, true, out.data());
      return out;
    };
    const std::vector<float> one = WithThreads(1, sums);
    EXPECT_EQ(WithThreads(2, sums), one);
    EXPECT_EQ(WithThreads(3, sums), one);
    for (int64_t c = 0; c < channels; ++c) {
      double want = 0;
      for (int64_t row = 0; row < kRows; ++row) {
        want += x[row * channels + c];
      }
      EXPECT_FLOAT_EQ(one[c], static_cast<float>(want)) << c;
    }
  }
}

TEST(BatchMoments, SharedRowsGiveTheSameBitsOnAnyNumberOfThreads) {
  for (const int64_t channels : {1, 16, 19}) {
    const std::vector<float> x = ChannelSumNumbers(kRows * channels);
    const BatchNormDims dims{1, channels, kRows, true};
    const auto moments = [&] {
      std::vector<double> out(static_cast<size_t>(3 * channels));
      BatchMoments(dims, x.data(), 0, out.data(), out.data() + channels,
                   out.data() + 2 * channels);
      return out;
    };
    const std::vector<double> one = WithThreads(1, moments);
    EXPECT_EQ(WithThreads(2, moments), one);
    EXPECT_EQ(WithThreads(3, moments), one);
    for (int64_t c = 0; c < channels; ++c) {
      EXPECT_NEAR(one[c], 100, 0.05);
      EXPECT_NEAR(one[channels + c], 0.5, 0.05);
    }
  }
}

TEST(SoftmaxGrad, SharedColumnsGiveTheSameBitsOnAnyNumberOfThreads) {
  const SoftmaxDims dims{1, 10, 2000 * SoftmaxDims::kColumnBlock + 3};
  const std::vector<float> x = ChannelSumNumbers(dims.size * dims.inner);
  std::vector<float> out(x.size());
  const auto both = [&] {
    std::vector<float> grad(x.size());
    Softmax<float>(SoftmaxStep::kSoftmax, dims, x.data(), nullptr, out.data());
    Softmax(SoftmaxStep::kGrad, dims, out.data(), x.data(), grad.data());
    return grad;
  };
  const std::vector<float> one = WithThreads(1, both);
  const std::vector<float> softmax = out;
  EXPECT_EQ(WithThreads(3, both), one);
  EXPECT_EQ(out, softmax);
  for (const int64_t column : {int64_t{0}, dims.inner - 1}) {
    double sum = 0;
    for (int64_t i = 0; i < dims.size; ++i) {
      sum += softmax[i * dims.inner + column];
    }
    EXPECT_NEAR(sum, 1, 1e-6);
  }
}

}  // namespace
}  // namespace sluice
