#include <cmath>
#include <limits>

#include "tests/operators/harness/op_case.h"
#include "tests/operators/ragged/offsets.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using ::sluice::testing::ExpectError;
using ::sluice::testing::OffsetsTensor;
using Ints = std::vector<int64_t>;
using Floats = std::vector<float>;

Tensor Tokens(const Ints& values) {
  return Tensor::FromVector<int64_t>({static_cast<int64_t>(values.size()), 1},
                                     values);
}
Tensor Numbers(const Floats& values, int64_t columns = 1) {
  const auto rows = static_cast<int64_t>(values.size()) / columns;
  return Tensor::FromVector<float>({rows, columns}, values);
}
const AttributeMap kTwoBeams = {{"beam_size", int64_t{2}},
                                {"end_id", int64_t{0}}};

TEST(BeamSearch, SelectsTheBestOfAllRowsOfASource) {
  auto got = RunOp("beam_search",
                   {{"PreIds", Tokens({1, 2, 3})},
                    {"PreScores", Numbers({0, 0, 0})},
                    {"Scores", Numbers({1, 5, 4, 6, 2, 3}, 2)},
                    {"Offsets", OffsetsTensor({2, 1})}},
                   kTwoBeams);
  EXPECT_EQ(got["SelectedIds"].ToVector<int64_t>(), (Ints{1, 1, 1, 0}));
  EXPECT_EQ(got["SelectedScores"].ToVector<float>(), (Floats{5, 6, 3, 2}));
  EXPECT_EQ(got["ParentIdx"].ToVector<int64_t>(), (Ints{0, 1, 2, 2}));
  EXPECT_EQ(got["OutOffsets"].ToVector<int64_t>(), (Ints{0, 1, 2, 4, 4}));
  EXPECT_EQ(got["OutSourceOffsets"].ToVector<int64_t>(), (Ints{0, 2, 3}));
}

TEST(BeamSearch, TakesEqualScoresFromTheFirstRowAndColumnOn) {
  auto got = RunOp("beam_search",
                   {{"PreIds", Tokens({1, 2})},
                    {"PreScores", Numbers({0, 0})},
                    {"Scores", Numbers({7, 7, 7, 7, 7, 7}, 3)},
                    {"Offsets", OffsetsTensor({2})}},
                   kTwoBeams);
  EXPECT_EQ(got["SelectedIds"].ToVector<int64_t>(), (Ints{0, 1}));
  EXPECT_EQ(got["ParentIdx"].ToVector<int64_t>(), (Ints{0, 0}));
}

TEST(BeamSearch, CountsNaNAsTheLargestScore) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  auto got = RunOp("beam_search",
                   {{"PreIds", Tokens({1})},
                    {"PreScores", Numbers({0})},
                    {"Scores", Numbers({9, nan, 8}, 3)}},
                   kTwoBeams);
  EXPECT_EQ(got["SelectedIds"].ToVector<int64_t>(), (Ints{1, 0}));
  EXPECT_TRUE(std::isnan(got["SelectedScores"].ToVector<float>()[0]));
}

TEST(BeamSearch, KeepsWhatEndedUntilAllOfASourceDid) {
  const auto search = [](int64_t second) {
    return RunOp("beam_search",
                 {{"PreIds", Tokens({0, second})},
                  {"PreScores", Numbers({3, 1})},
                  {"Scores", Numbers({9, 9, 2, 1}, 2)},
                  {"Offsets", OffsetsTensor({2})}},
                 kTwoBeams);
  };
  auto goes_on = search(5);
  EXPECT_EQ(goes_on["SelectedScores"].ToVector<float>(), (Floats{3, 2}));
  EXPECT_EQ(goes_on["OutOffsets"].ToVector<int64_t>(), (Ints{0, 1, 2}));
  auto ended = search(0);
  EXPECT_EQ(ended["OutOffsets"].ToVector<int64_t>(), (Ints{0, 0, 0}));
}

// Two steps of one source: row 0 of step 1 goes on from row 1 of step 0.
testing::OpExample Steps(const Ints& offsets) {
  return {
      {{"Ids", Tensor::FromVector<int64_t>({2, 2, 1}, {1, 2, 3, 0})},
       {"Scores", Tensor::FromVector<float>({2, 2, 1}, {1, 2, 3, 4})},
       {"Offsets", Tensor::FromVector<int64_t>({2, 3}, offsets)},
       {"SourceOffsets", Tensor::FromVector<int64_t>({2, 2}, {0, 1, 0, 2})}},
      kTwoBeams};
}

TEST(BeamSearchDecode, GivesTheBestSentenceFirst) {
  const testing::OpExample steps = Steps({0, 2, 2, 0, 0, 2});
  auto got = RunOp("beam_search_decode", steps.inputs, steps.attributes);
  EXPECT_EQ(got["SentenceIds"].ToVector<int64_t>(), (Ints{2, 0, 2, 3}));
  EXPECT_EQ(got["SentenceScores"].ToVector<float>(), (Floats{2, 4, 2, 3}));
  EXPECT_EQ(got["OutOffsets"].ToVector<int64_t>(), (Ints{0, 2, 4}));
  EXPECT_EQ(got["OutSourceOffsets"].ToVector<int64_t>(), (Ints{0, 2}));
}

TEST(BeamSearchDecode, RefusesStepsThatDoNotFollowEachOther) {
  const testing::OpExample steps = Steps({0, 1, 1, 0, 0, 2});
  ExpectError(ErrorCode::kOutOfRange, "beam_search_decode.parent",
              {"row 1 of step 1", "goes on from row 1"}, [&] {
                RunOp("beam_search_decode", steps.inputs, steps.attributes);
              });
  testing::OpExample one = Steps({0, 2, 2, 0, 0, 2});
  one.attributes["beam_size"] = int64_t{1};
  ExpectError(ErrorCode::kInvalidArgument, "beam_search_decode.beams",
              {"source 0 has 2 hypotheses in step 1", "at most 1"},
              [&] { RunOp("beam_search_decode", one.inputs, one.attributes); });
  testing::OpExample longer = Steps({0, 2, 2, 0, 0, 2});
  longer.inputs.emplace_back("Length", Tensor::FromVector<int64_t>({1}, {3}));
  ExpectError(ErrorCode::kOutOfRange, "beam_search_decode.steps_there",
              {"Length = 3", "0 to 2"}, [&] {
                RunOp("beam_search_decode", longer.inputs, longer.attributes);
              });
}

}  // namespace
}  // namespace sluice
