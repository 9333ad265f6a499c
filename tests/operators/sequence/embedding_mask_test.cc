#include "sluice/operators/sequence/embedding_mask.h"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

template <typename T, typename S>
struct Case {
  Case(const EmbeddingMaskSizes& s, int64_t longest, double offset = 0)
      : sizes(s) {
    std::mt19937 engine(7);
    std::uniform_real_distribution<double> uniform(-1, 1);
    embedding.resize(s.batch * s.x * s.y * s.features);
    for (T& value : embedding) {
      value = static_cast<T>(uniform(engine) + offset);
    }
    for (int64_t i = 0; i < s.batch * s.masks * s.x; ++i) {
      const int64_t start = engine() % (s.y + 1);
      const int64_t length = engine() % (longest + 1);
      mask.push_back(static_cast<S>(start));
      mask.push_back(static_cast<S>(std::min(s.y, start + length)));
    }
    mean.assign(s.batch * s.masks * s.features + 1, T{-7});
    count.assign(s.batch * s.masks + 1, -7);
  }

  void Run() {
    AverageEmbeddingMask(embedding.data(), mask.data(), sizes, mean.data(),
                         count.data());
  }
  void RunPlain() {
    AverageEmbeddingMaskPlain(embedding.data(), mask.data(), sizes, mean.data(),
                              count.data());
  }

  EmbeddingMaskSizes sizes;
  std::vector<T> embedding;
  std::vector<S> mask;
  std::vector<T> mean;
  std::vector<int64_t> count;
};

template <typename T, typename S>
void ExpectLikePlain(const EmbeddingMaskSizes& sizes, int64_t longest) {
  Case<T, S> fast(sizes, longest), plain(sizes, longest);
  fast.Run();
  plain.RunPlain();
  EXPECT_EQ(fast.count, plain.count);
  for (size_t i = 0; i < fast.mean.size(); ++i) {
    ASSERT_NEAR(fast.mean[i], plain.mean[i], sizeof(T) == 4 ? 1e-6 : 1e-14)
        << "y " << sizes.y << " features " << sizes.features << " at " << i;
  }
}

TEST(EmbeddingMaskTest, MatchesPlainForEveryNumberOfFeatures) {
  for (int64_t features = 1; features <= 40; ++features) {
    ExpectLikePlain<float, int32_t>({2, 5, 70, features, 3}, 70);
    ExpectLikePlain<double, int64_t>({2, 5, 70, features, 3}, 70);
  }
}

TEST(EmbeddingMaskTest, MatchesPlainForManySizes) {
  ExpectLikePlain<float, int64_t>({1, 2, 1, 16, 2}, 1);
  ExpectLikePlain<float, int32_t>({3, 4, 15, 16, 40}, 15);
  ExpectLikePlain<float, int32_t>({1, 2, 16, 17, 2}, 16);
  ExpectLikePlain<double, int32_t>({1, 2, 9000, 3, 4}, 9000);
  ExpectLikePlain<float, int32_t>({1, 2, 2000, 300, 20}, 2000);
}

TEST(EmbeddingMaskTest, AnEmptyMaskGivesZeros) {
  Case<float, int32_t> c({1, 3, 20, 5, 2}, 20);
  for (int i = 0; i < 3; ++i) {
    c.mask[2 * i + 1] = c.mask[2 * i];
  }
  c.Run();
  EXPECT_EQ(c.count[0], 0);
  for (int f = 0; f < 5; ++f) {
    EXPECT_EQ(c.mean[f], 0);
  }
}

TEST(EmbeddingMaskTest, WithoutRowsEveryMaskIsEmpty) {
  for (const EmbeddingMaskSizes& sizes :
       {EmbeddingMaskSizes{2, 0, 4, 3, 2}, EmbeddingMaskSizes{2, 3, 0, 3, 2}}) {
    Case<float, int64_t> c(sizes, 0);
    c.Run();
    EXPECT_EQ(c.count, (std::vector<int64_t>{0, 0, 0, 0, -7}));
    for (int i = 0; i < 12; ++i) {
      EXPECT_EQ(c.mean[i], 0);
    }
    EXPECT_EQ(c.mean.back(), -7);
  }
}

TEST(EmbeddingMaskTest, WithoutMasksNothingIsWritten) {
  Case<float, int32_t> c({1, 3, 9, 4, 0}, 0);
  c.Run();
  EXPECT_EQ(c.mean[0], -7);
  EXPECT_EQ(c.count[0], -7);
}

TEST(EmbeddingMaskTest, NanOutsideAMaskDoesNotReachIt) {
  Case<float, int32_t> c({1, 1, 100, 16, 2}, 0);
  c.mask = {10, 60, 65, 100};
  c.embedding[62 * 16 + 3] = std::numeric_limits<float>::quiet_NaN();
  c.embedding[70 * 16 + 5] = std::numeric_limits<float>::quiet_NaN();
  c.Run();
  for (int f = 0; f < 16; ++f) {
    EXPECT_FALSE(std::isnan(c.mean[f]));
    EXPECT_EQ(std::isnan(c.mean[16 + f]), f == 5);
  }
}

TEST(EmbeddingMaskTest, AnOffsetCostsNoAccuracy) {
  const EmbeddingMaskSizes sizes{1, 200, 300, 16, 3};
  Case<float, int32_t> fast(sizes, 300, 1e4), plain(sizes, 300, 1e4);
  fast.Run();
  plain.RunPlain();
  for (size_t i = 0; i < fast.mean.size(); ++i) {
    EXPECT_NEAR(fast.mean[i], plain.mean[i], 1e4 * 1e-6);
  }
}

TEST(EmbeddingMaskTest, TheNumberOfThreadsChangesNoBit) {
  const EmbeddingMaskSizes sizes{3, 40, 120, 20, 11};
  Case<float, int64_t> one(sizes, 120), many(sizes, 120);
  {
    ThreadCountGuard guard(1);
    one.Run();
  }
  ThreadCountGuard guard(4);
  many.Run();
  EXPECT_EQ(one.mean, many.mean);
  EXPECT_EQ(one.count, many.count);
}

TEST(EmbeddingMaskTest, AMaskDoesNotDependOnTheOthers) {
  const EmbeddingMaskSizes sizes{1, 40, 120, 20, 11};
  Case<float, int64_t> all(sizes, 120), last({1, 40, 120, 20, 1}, 120);
  last.embedding = all.embedding;
  last.mask.assign(all.mask.end() - 80, all.mask.end());
  all.Run();
  last.Run();
  for (int f = 0; f < 20; ++f) {
    EXPECT_EQ(all.mean[10 * 20 + f], last.mean[f]);
  }
}

template <typename S>
class FindInvalidRunTest : public ::testing::Test {};
using IndexTypes = ::testing::Types<int32_t, int64_t>;
TYPED_TEST_SUITE(FindInvalidRunTest, IndexTypes);

TYPED_TEST(FindInvalidRunTest, FindsTheFirst) {
  using S = TypeParam;
  const S most = std::numeric_limits<S>::max();
  const S least = std::numeric_limits<S>::min();
  const std::vector<std::pair<S, S>> bad = {
      {3, 2},  {-1, 2},   {-2, -1},   {0, 11},       {11, 11},
      {0, -1}, {0, most}, {least, 0}, {least, most}, {most, least}};
  for (const auto& [start, end] : bad) {
    for (int64_t at : {0, 255, 256, 600}) {
      std::vector<S> mask(2 * 700, S{5});
      for (int64_t later : {at, at + 1, int64_t{699}}) {
        mask[2 * later] = start;
        mask[2 * later + 1] = end;
      }
      EXPECT_EQ(FindInvalidRun(mask.data(), 700, 10), at)
          << start << " to " << end;
    }
  }
}

TYPED_TEST(FindInvalidRunTest, AllValidGivesMinusOne) {
  const std::vector<TypeParam> mask = {0, 0, 0, 10, 10, 10, 3, 4};
  EXPECT_EQ(FindInvalidRun(mask.data(), 4, 10), -1);
  EXPECT_EQ(FindInvalidRun(mask.data(), 0, 10), -1);
  EXPECT_EQ(FindInvalidRun(mask.data(), 4, int64_t{1} << 40), -1);
}

}  // namespace
}  // namespace sluice
