#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/operators/ragged/ragged_examples.h"
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

// The cases with which the harness tests every kernel.
namespace sluice::testing {
namespace {

struct NaiveCandidate {
  double score;
  int64_t row;
  double id;
};

// Repeats the last value up to `size`.
Array PaddedTo(std::vector<double> values, const DDim& dims) {
  Array out(dims);
  values.resize(out.values.size(), values.empty() ? 0 : values.back());
  out.values = std::move(values);
  return out;
}

Arrays BeamSearchReference(const Arrays& in, const OpDesc& op) {
  const Array& scores = in.at("Scores");
  const auto end_id = static_cast<double>(GetAttr<int64_t>(op, "end_id"));
  const auto beams = GetAttr<int64_t>(op, "beam_size");
  const int64_t rows = scores.dims[0];
  const int64_t columns = WidthOf(scores.dims);
  std::vector<double> starts = {0};
  if (in.count("Offsets") == 0) {
    for (int64_t row = 0; row < rows; ++row)
      starts.push_back(row + 1.0);
  } else {
    starts = in.at("Offsets").values;
  }
  if (in.count("SourceOffsets") > 0) {
    starts = in.at("SourceOffsets").values;
    for (double& start : starts) {
      start = in.at("Offsets").values[static_cast<size_t>(start)];
    }
  }
  std::vector<std::vector<NaiveCandidate>> by_row(rows);
  for (size_t b = 0; b + 1 < starts.size(); ++b) {
    std::vector<NaiveCandidate> all;
    for (auto row = static_cast<int64_t>(starts[b]);
         row < static_cast<int64_t>(starts[b + 1]); ++row) {
      const double before = in.at("PreScores").values[row];
      if (in.at("PreIds").values[row] == end_id) {
        all.push_back({before, row, end_id});
        continue;
      }
      for (int64_t k = 0; k < columns; ++k) {
        const size_t at = static_cast<size_t>(row * columns + k);
        const double own = scores.values[at];
        all.push_back(
            {GetAttr<bool>(op, "is_accumulated") ? own : before + std::log(own),
             row,
             in.count("Ids") > 0 ? in.at("Ids").values[at]
                                 : static_cast<double>(k)});
      }
    }
    std::stable_sort(all.begin(), all.end(),
                     [](auto& a, auto& b) { return a.score > b.score; });
    if (static_cast<int64_t>(all.size()) > beams) all.resize(beams);
    const bool ended = std::all_of(all.begin(), all.end(), [&](auto& each) {
      return in.at("PreIds").values[each.row] == end_id;
    });
    if (ended) continue;
    for (const NaiveCandidate& each : all)
      by_row[each.row].push_back(each);
  }
  std::vector<double> ids, selected, parents, offsets = {0};
  for (int64_t row = 0; row < rows; ++row) {
    for (const NaiveCandidate& each : by_row[row]) {
      ids.push_back(each.id);
      selected.push_back(each.score);
      parents.push_back(static_cast<double>(row));
    }
    offsets.push_back(static_cast<double>(ids.size()));
  }
  const auto sources = static_cast<int64_t>(starts.size()) - 1;
  const int64_t most = sources * beams;
  return {{"SelectedIds", PaddedTo(ids, {most, 1})},
          {"SelectedScores", PaddedTo(selected, {most, 1})},
          {"ParentIdx", PaddedTo(parents, {most})},
          {"OutOffsets", PaddedTo(offsets, {std::max(most, rows) + 1})},
          {"OutSourceOffsets", PaddedTo(starts, {sources + 1})}};
}

OpExample BeamExample(ExampleMaker& make,
                      const Lengths& lengths,
                      int64_t columns,
                      int64_t beams,
                      DType ids) {
  const int64_t rows = OffsetsOf(lengths).back();
  return {{{"PreIds", make.Integers(ids, {rows, 1}, 0, 3)},
           {"PreScores", make.Values({rows, 1})},
           {"Ids", make.Integers(ids, {rows, columns}, 0, 3)},
           {"Scores", make.Values({rows, columns})},
           {"Offsets", OffsetsTensor(lengths)}},
          {{"beam_size", beams}, {"end_id", int64_t{1}}}};
}

std::vector<OpExample> BeamSearchExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  for (const Lengths& lengths : ManyLengths()) {
    examples.push_back(BeamExample(make, lengths, 3, 2, DType::kInt64));
  }
  examples.push_back(BeamExample(make, {2, 3}, 5, 7, DType::kInt32));
  examples.push_back(BeamExample(make, {2, 1}, 0, 2, DType::kInt64));
  examples.push_back(BeamExample(make, Lengths(61, 9), 101, 5, DType::kInt64));
  // Each row a source; and sources of groups of rows.
  examples.push_back(BeamExample(make, {3, 1}, 4, 3, DType::kInt64));
  examples.back().inputs.pop_back();
  examples.push_back(BeamExample(make, {2, 0, 1, 3}, 4, 3, DType::kInt64));
  examples.back().inputs.emplace_back("SourceOffsets",
                                      OffsetsTensor({3, 0, 1}));
  // Logarithms, of tokens without a list.
  OpExample& logs =
      examples.emplace_back(BeamExample(make, {3, 2}, 5, 4, DType::kInt64));
  logs.inputs[3].second = make.Integers(make.dtype(), {5, 5}, 1, 9);
  logs.inputs.erase(logs.inputs.begin() + 2);
  logs.attributes["is_accumulated"] = false;
  return examples;
}

// Steps of searches in which each row goes on with up to two rows.
std::vector<OpExample> DecodeExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  const auto add = [&](int64_t steps, int64_t sources, int64_t beams,
                       bool all) {
    const int64_t rows = sources * beams;
    Array offsets({steps, rows + 1}), outer({steps, sources + 1});
    std::vector<int64_t> before(static_cast<size_t>(sources), 1);
    for (int64_t t = 0; t < steps; ++t) {
      int64_t prefix = 0;
      int64_t row = 0;
      for (int64_t b = 0; b < sources; ++b) {
        int64_t left = make.Integer(0, beams);
        const int64_t prefixes = before[b];
        before[b] = 0;
        for (int64_t p = 0; p < prefixes; ++p) {
          const int64_t more = p + 1 == prefixes ? left : make.Integer(0, left);
          left -= more;
          row += more;
          before[b] += more;
          offsets(t, ++prefix) = static_cast<double>(row);
        }
        outer(t, b + 1) = static_cast<double>(prefix);
      }
      while (prefix < rows)
        offsets(t, ++prefix) = static_cast<double>(row);
    }
    examples.push_back(
        {{{"Ids", make.Integers(DType::kInt64, {steps, rows, 1}, 0, 2)},
          {"Scores", make.Values({steps, rows, 1})},
          {"Offsets", ToTensor(offsets, DType::kInt64)},
          {"SourceOffsets", ToTensor(outer, DType::kInt64)}},
         {{"beam_size", beams}, {"end_id", int64_t{0}}}});
    if (all) return;
    Array length(DDim{1});
    length.values[0] = static_cast<double>(steps - 1);
    examples.back().inputs.emplace_back("Length",
                                        ToTensor(length, DType::kInt64));
  };
  add(1, 1, 1, true);
  add(4, 3, 2, true);
  add(7, 2, 5, false);
  add(3, 0, 2, true);
  add(0, 2, 3, true);
  add(60, 71, 5, true);
  return examples;
}

Arrays DecodeReference(const Arrays& in, const OpDesc& op) {
  const Array& ids = in.at("Ids");
  const Array& scores = in.at("Scores");
  const Array& offsets = in.at("Offsets");
  const Array& outer = in.at("SourceOffsets");
  const auto end_id = static_cast<double>(GetAttr<int64_t>(op, "end_id"));
  const auto beams = GetAttr<int64_t>(op, "beam_size");
  const int64_t steps = in.count("Length") > 0
                            ? static_cast<int64_t>(in.at("Length").values[0])
                            : ids.dims[0];
  const int64_t sources = outer.dims[1] - 1;
  struct Sentence {
    std::vector<double> words, values;
  };
  std::vector<double> words, values, ends = {0}, counts = {0};
  for (int64_t b = 0; b < sources; ++b) {
    // All hypotheses of each step, from the first step on.
    std::map<int64_t, Sentence> last, kept;
    for (int64_t t = 0; t < steps; ++t) {
      std::map<int64_t, Sentence> now;
      for (auto p = static_cast<int64_t>(outer(t, b));
           p < static_cast<int64_t>(outer(t, b + 1)); ++p) {
        for (auto row = static_cast<int64_t>(offsets(t, p));
             row < static_cast<int64_t>(offsets(t, p + 1)); ++row) {
          Sentence sentence = t == 0 ? Sentence() : last.at(p);
          sentence.words.push_back(ids(t, row, 0));
          sentence.values.push_back(scores(t, row, 0));
          now[row] = sentence;
        }
      }
      if (!now.empty()) kept = now;
      last = now;
    }
    std::vector<Sentence> sentences;
    for (const auto& [row, sentence] : kept)
      sentences.push_back(sentence);
    std::stable_sort(sentences.begin(), sentences.end(), [](auto& x, auto& y) {
      return x.values.back() > y.values.back();
    });
    for (const Sentence& sentence : sentences) {
      for (size_t i = 0; i < sentence.words.size(); ++i) {
        const bool is_last = i + 1 == sentence.words.size();
        if (!is_last && sentence.words[i] == end_id) continue;
        words.push_back(sentence.words[i]);
        values.push_back(sentence.values[i]);
      }
      ends.push_back(static_cast<double>(words.size()));
    }
    counts.push_back(static_cast<double>(ends.size() - 1));
  }
  const int64_t most = ids.dims[0] * sources * beams;
  return {{"SentenceIds", PaddedTo(words, DDim{most})},
          {"SentenceScores", PaddedTo(values, DDim{most})},
          {"OutOffsets", PaddedTo(ends, DDim{sources * beams + 1})},
          {"OutSourceOffsets", PaddedTo(counts, DDim{sources + 1})}};
}

REGISTER_OP_CASE(beam_search, BeamSearchExamples, BeamSearchReference);
REGISTER_OP_CASE(beam_search_decode, DecodeExamples, DecodeReference);

}  // namespace
}  // namespace sluice::testing
