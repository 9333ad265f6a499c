#include "sluice/operators/random/random.h"

#include <cmath>
#include <numbers>
#include <vector>

#include <gtest/gtest.h>

#include "sluice/operators/random/box_muller.h"
#include "sluice/operators/random/random_words.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

std::vector<uint32_t> Words(PhiloxCounter c, uint32_t key0, uint32_t key1) {
  c = Philox(c, key0, key1);
  return {c.word, c.word + 4};
}

// The known answers of the authors' Random123.
TEST(Philox, GivesThePublishedWords) {
  EXPECT_EQ(
      Words({{0, 0, 0, 0}}, 0, 0),
      (std::vector<uint32_t>{0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8}));
  constexpr uint32_t kAll = 0xFFFFFFFF;
  EXPECT_EQ(
      Words({{kAll, kAll, kAll, kAll}}, kAll, kAll),
      (std::vector<uint32_t>{0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD}));
  EXPECT_EQ(
      Words({{0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344}}, 0xA4093822,
            0x299F31D0),
      (std::vector<uint32_t>{0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1}));
}

TEST(RandomStream, EveryPartOfItsNameGivesOtherWords) {
  const RandomStream base{1, 2, 3};
  const uint32_t word = base.Block(4).word[0];
  EXPECT_NE((RandomStream{2, 2, 3}).Block(4).word[0], word);
  EXPECT_NE((RandomStream{1 + (uint64_t{1} << 32), 2, 3}).Block(4).word[0],
            word);
  EXPECT_NE((RandomStream{1, 3, 3}).Block(4).word[0], word);
  EXPECT_NE((RandomStream{1, 2, 4}).Block(4).word[0], word);
  EXPECT_NE((RandomStream{1, 2, 3 + (uint64_t{1} << 32)}).Block(4).word[0],
            word);
  EXPECT_NE(base.Block(5).word[0], word);
  EXPECT_NE(base.Block(4 + (uint64_t{1} << 32)).word[0], word);
}

TEST(RandomWords, AreTheWordsOfEachBlock) {
  const RandomStream stream{0x123456789ABCDEF, 5, 0x987654321};
  for (const uint64_t first :
       {uint64_t{0}, uint64_t{77}, (uint64_t{1} << 32) - 20}) {
    for (const int64_t blocks : {1, 3, 16, 37, 128}) {
      std::vector<uint32_t> words(4 * blocks);
      RandomWords(stream, first, blocks, words.data());
      for (int64_t i = 0; i < 4 * blocks; ++i) {
        ASSERT_EQ(words[i], stream.Block(first + i / 4).word[i % 4]);
      }
    }
  }
}

TEST(BoxMuller, PolynomialsAreAsExactAsTheLibrary) {
  for (uint64_t i = 0; i < 100'000; ++i) {
    const auto word = static_cast<uint32_t>(i * 42'949);
    const double uniform = (word + 0.5) / 4294967296;
    EXPECT_NEAR(PolynomialLog(uniform) / std::log(uniform), 1, 1e-15);
    const double angle = 2 * std::numbers::pi * word / 4294967296;
    const SineCosine got = PolynomialSineCosine(word);
    ASSERT_NEAR(got.sine, std::sin(angle), 2e-15);
    ASSERT_NEAR(got.cosine, std::cos(angle), 2e-15);
  }
  for (const double x : {0.5 / 4294967296, 1 - 0.5 / 4294967296, 1.0, 2.0}) {
    EXPECT_NEAR(PolynomialLog(x), std::log(x), 4e-15);
  }
}

TEST(FillUniform, StaysBelowTheUpperLimit) {
  std::vector<float> values(100'000);
  FillUniform(RandomStream{}, 1, 1 + 1e-6, 100'000, values.data());
  double sum = 0;
  for (const float value : values) {
    ASSERT_GE(value, 1);
    ASSERT_LT(value, static_cast<float>(1 + 1e-6));
  }
  FillUniform(RandomStream{}, -1, 3, 100'000, values.data());
  for (const float value : values) {
    ASSERT_GE(value, -1);
    ASSERT_LT(value, 3);
    sum += value;
  }
  EXPECT_NEAR(sum / 100'000, 1, 0.02);
}

TEST(FillUniform, DoublesHave53RandomBits) {
  constexpr int kCount = 4096;
  std::vector<double> values(kCount);
  std::vector<float> floats(kCount);
  FillUniform(RandomStream{}, 0, 1, kCount, values.data());
  FillUniform(RandomStream{}, 0, 1, kCount, floats.data());
  for (int bit = 1; bit <= 53; ++bit) {
    int ones = 0;
    for (const double value : values) {
      ones += static_cast<int64_t>(std::ldexp(value, bit)) % 2 == 1 ? 1 : 0;
    }
    EXPECT_NEAR(ones, kCount / 2, 200) << bit;
  }
  for (int i = 0; i < kCount; ++i) {
    EXPECT_EQ(std::ldexp(values[i], 53), std::floor(std::ldexp(values[i], 53)));
    EXPECT_NEAR(values[i], floats[i], 1e-7);
  }
}

TEST(FillNormal, HasTheMomentsOfTheDistribution) {
  std::vector<double> values(1'000'000);
  FillNormal(RandomStream{7, 1, 2}, 0, 1, 1'000'000, values.data());
  double moments[5] = {};
  for (const double value : values) {
    double power = 1;
    for (double& moment : moments) {
      moment += power / 1e6;
      power *= value;
    }
  }
  EXPECT_NEAR(moments[1], 0, 4e-3);
  EXPECT_NEAR(moments[2], 1, 6e-3);
  EXPECT_NEAR(moments[3], 0, 2e-2);
  EXPECT_NEAR(moments[4], 3, 5e-2);
}

TEST(FillNormal, HasTheSameBitsOnAnyNumberOfThreads) {
  const auto run = [](int threads) {
    const ThreadCountGuard guard(threads);
    std::vector<float> values(50'003);
    FillNormal(RandomStream{7}, 1, 2, 50'003, values.data());
    return values;
  };
  EXPECT_EQ(run(2), run(1));
  EXPECT_EQ(run(7), run(1));
}

TEST(DropoutThreshold, KeepsAllAt0AndNoneAt1) {
  EXPECT_EQ(DropoutThreshold(0), 0u);
  EXPECT_EQ(DropoutThreshold(0.5), uint64_t{1} << 31);
  EXPECT_EQ(DropoutThreshold(1), uint64_t{1} << 32);
}

}  // namespace
}  // namespace sluice
