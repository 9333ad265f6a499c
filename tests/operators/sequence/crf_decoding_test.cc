#include <limits>
#include <random>
#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using testing::InferOpShapes;
using Int64s = std::vector<int64_t>;
using Floats = std::vector<float>;
using Inputs = std::vector<std::pair<std::string, Tensor>>;

Inputs OneSequence(const Floats& emission,
                   const Floats& transition,
                   int64_t length) {
  const auto positions = static_cast<int64_t>(emission.size() / 2);
  return {{"Emission", Tensor::FromVector<float>({1, positions, 2}, emission)},
          {"Transition", Tensor::FromVector<float>({4, 2}, transition)},
          {"Length", Tensor::FromVector<int64_t>({1}, {length})}};
}

Int64s Decode(const Inputs& inputs) {
  return RunOp("crf_decoding", inputs)["ViterbiPath"].ToVector<int64_t>();
}

TEST(CrfDecoding, FindsTheBestPath) {
  // Transitions to the other tag have a higher score.
  const Floats changing = {0, 0, 0, 0, -1, 1, 1, -1};
  EXPECT_EQ(Decode(OneSequence({5, 0, 0, 0, 0, 0}, changing, 3)),
            (Int64s{0, 1, 0}));
  EXPECT_EQ(Decode(OneSequence({0, 0, 0, 0, 5, 0}, changing, 2)),
            (Int64s{1, 0, 0}));
  // The first tag and the last.
  EXPECT_EQ(Decode(OneSequence({0, 0, 0, 0}, {0, 1, 2, 0, 0, 0, 0, 0}, 2)),
            (Int64s{1, 0}));
}

TEST(CrfDecoding, TakesTheSmallestOfEqualTags) {
  EXPECT_EQ(Decode(OneSequence({0, 0, 0, 0, 0, 0}, Floats(8, 0), 3)),
            (Int64s{0, 0, 0}));
}

// Viterbi's algorithm as it is written down. Weights are whole numbers, so that
// many paths are equally good.
Int64s BestPath(const Floats& emission, const Floats& transition, size_t tags) {
  std::vector<double> scores(tags), next(tags);
  std::vector<std::vector<size_t>> from;
  for (size_t j = 0; j < tags; ++j) {
    scores[j] = transition[j] + emission[j];
  }
  for (size_t t = 1; t < emission.size() / tags; ++t) {
    from.emplace_back(tags, 0);
    for (size_t j = 0; j < tags; ++j) {
      const auto sum = [&](size_t i) {
        return scores[i] + transition[(2 + i) * tags + j];
      };
      for (size_t i = 1; i < tags; ++i) {
        if (sum(i) > sum(from.back()[j])) from.back()[j] = i;
      }
      next[j] = sum(from.back()[j]) + emission[t * tags + j];
    }
    scores.swap(next);
  }
  size_t best = 0;
  const auto last = [&](size_t j) { return scores[j] + transition[tags + j]; };
  for (size_t j = 1; j < tags; ++j) {
    if (last(j) > last(best)) best = j;
  }
  Int64s path = {static_cast<int64_t>(best)};
  for (auto row = from.rbegin(); row != from.rend(); ++row) {
    best = (*row)[best];
    path.insert(path.begin(), static_cast<int64_t>(best));
  }
  return path;
}

TEST(CrfDecoding, FindsTheFirstOfTheBestPathsOfAnyNumberOfTags) {
  std::mt19937 engine(5);
  std::uniform_int_distribution<int> weight(-2, 2);
  for (const size_t tags : {1, 3, 7, 8, 9, 16, 31, 33, 40, 57, 130}) {
    const auto draw = [&](size_t rows) {
      Floats drawn(rows * tags);
      for (float& value : drawn) {
        value = static_cast<float>(weight(engine));
      }
      return drawn;
    };
    constexpr int64_t kLength = 9;
    const auto n = static_cast<int64_t>(tags);
    const Floats emission = draw(kLength), transition = draw(tags + 2);
    const Int64s got =
        Decode({{"Emission", Tensor::FromVector({1, kLength, n}, emission)},
                {"Transition", Tensor::FromVector({n + 2, n}, transition)},
                {"Length", Tensor::FromVector<int64_t>({1}, {kLength})}});
    EXPECT_EQ(got, BestPath(emission, transition, tags)) << tags << " tags";
  }
}

TEST(CrfDecoding, NeverTakesAForbiddenTransition) {
  const float never = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(Decode(OneSequence({9, 0, 8, 0}, {0, 0, 0, 0, never, 0, 0, 0}, 2)),
            (Int64s{0, 1}));
}

TEST(CrfDecoding, ComparesWithLabels) {
  Inputs inputs = OneSequence({1, 0, 0, 1, 1, 0, 0, 1}, Floats(8, 0), 3);
  inputs.emplace_back("Label",
                      Tensor::FromVector<int64_t>({1, 4}, {0, 0, 0, -1}));
  EXPECT_EQ(Decode(inputs), (Int64s{1, 0, 1, 0}));
}

TEST(CrfDecoding, OfLengthZeroHasNoTags) {
  EXPECT_EQ(Decode(OneSequence({1, 0, 0, 1}, Floats(8, 0), 0)), (Int64s{0, 0}));
}

TEST(CrfDecoding, InfersUnknownShapes) {
  EXPECT_EQ(InferOpShapes("crf_decoding", {{"Emission", {-1, 4, -1}},
                                           {"Transition", {4, 2}},
                                           {"Length", {3}}})["ViterbiPath"],
            DDim({3, 4}));
}

}  // namespace
}  // namespace sluice
