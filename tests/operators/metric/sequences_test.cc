#include <algorithm>
#include <functional>
#include <set>
#include <tuple>
#include <vector>

#include "tests/operators/harness/op_case.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using Floats = std::vector<float>;
using Int64s = std::vector<int64_t>;

Tensor Row(const Int64s& tokens) {
  return Tensor::FromVector<int64_t>({1, static_cast<int64_t>(tokens.size())},
                                     tokens);
}

float Distance(const Int64s& hyp,
               const Int64s& ref,
               const AttributeMap& attributes = {}) {
  return RunOp("edit_distance", {{"Hyps", Row(hyp)}, {"Refs", Row(ref)}},
               attributes)["Out"]
      .ToVector<float>()[0];
}

TEST(EditDistance, CountsTheFewestChanges) {
  // kitten, sitting
  EXPECT_EQ(Distance({1, 2, 3, 3, 4, 5}, {6, 2, 3, 3, 2, 5, 7}), 3);
  EXPECT_EQ(Distance({}, {1, 2}), 2);
  EXPECT_EQ(Distance({1, 2}, {}), 2);
  EXPECT_FLOAT_EQ(Distance({1, 2}, {1, 3, 4}, {{"normalized", true}}),
                  2.0F / 3);
  EXPECT_EQ(
      Distance({0, 1, 9, 2}, {1, 2, 0, 0}, {{"ignored_tokens", Int64s{0, 9}}}),
      0);
}

// The chunks found, by scheme, in tags that are compared with themselves.
int64_t Chunks(const Int64s& tags, const char* scheme, int64_t types = 2) {
  auto out = RunOp(
      "chunk_eval", {{"Inference", Row(tags)}, {"Label", Row(tags)}},
      {{"num_chunk_types", types}, {"chunk_scheme", std::string(scheme)}});
  const auto count = out["NumInferChunks"].ToVector<int64_t>()[0];
  EXPECT_EQ(out["NumCorrectChunks"].ToVector<int64_t>()[0], count);
  EXPECT_EQ(out["F1Score"].ToVector<float>()[0], count > 0 ? 1 : 0);
  return count;
}

TEST(ChunkEval, FindsTheChunksOfEachScheme) {
  EXPECT_EQ(Chunks({0, 1, 0, 4, 2, 3, 3}, "IOB"), 3);
  EXPECT_EQ(Chunks({1, 1, 4, 3}, "IOB"), 2);  // without a begin
  EXPECT_EQ(Chunks({0, 1, 1, 4, 2, 2}, "IOE"), 3);
  EXPECT_EQ(Chunks({0, 1, 2, 3, 3, 8, 4, 6}, "IOBES"), 4);
  EXPECT_EQ(Chunks({0, 0, 2, 1, 1, 0}, "plain"), 3);
  EXPECT_EQ(Chunks({4, 4}, "IOB"), 0);
}

TEST(ChunkEval, ComparesWholeChunks) {
  auto out = RunOp("chunk_eval",
                   {{"Inference", Row({0, 1, 4, 2, 2, 0})},
                    {"Label", Row({0, 1, 1, 2, 3, 0})}},
                   {{"num_chunk_types", int64_t{2}}});
  EXPECT_EQ(out["NumInferChunks"].ToVector<int64_t>()[0], 4);
  EXPECT_EQ(out["NumLabelChunks"].ToVector<int64_t>()[0], 3);
  EXPECT_EQ(out["NumCorrectChunks"].ToVector<int64_t>()[0], 1);
  EXPECT_EQ(out["Precision"].ToVector<float>(), Floats{0.25F});
  EXPECT_FLOAT_EQ(out["F1Score"].ToVector<float>()[0], 2.0F / 7);
}

}  // namespace
}  // namespace sluice

// The cases with which the harness tests every kernel of the ops.
namespace sluice::testing {
namespace {

using Tokens = std::vector<int64_t>;

Tokens TokensOf(const Arrays& in,
                const std::string& name,
                const std::string& length,
                int64_t b) {
  const Array& input = in.at(name);
  const int64_t most = input.dims[1];
  const auto size =
      in.count(length) > 0 ? static_cast<int64_t>(in.at(length)(b)) : most;
  Tokens tokens;
  for (int64_t i = 0; i < size; ++i) {
    tokens.push_back(static_cast<int64_t>(input.values[b * most + i]));
  }
  return tokens;
}

std::vector<OpExample> EditDistanceExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  for (const DDim& dims : {DDim{3, 4, 5},
                           {1, 1, 1},
                           {0, 2, 3},
                           {2, 0, 3},
                           {2, 3, 0},
                           {1201, 5, 4}}) {
    const int64_t batch = dims[0];
    OpExample example = {
        {{"Hyps", make.Integers(make.dtype(), {batch, dims[1]}, 0, 3)},
         {"Refs", make.Integers(make.dtype(), {batch, dims[2], 1}, 0, 3)}},
        {{"ignored_tokens", Tokens{3}}}};
    if (batch > 2) {
      example.inputs.emplace_back(
          "HypsLength", make.Integers(DType::kInt64, {batch}, 0, dims[1]));
      example.inputs.emplace_back(
          "RefsLength", make.Integers(DType::kInt64, {batch}, 1, dims[2]));
      example.attributes = {{"normalized", true}};
    }
    examples.push_back(example);
  }
  return examples;
}

Arrays EditDistanceReference(const Arrays& in, const OpDesc& op) {
  const int64_t batch = in.at("Hyps").dims[0];
  Array out({batch, 1}), count({1});
  count(0) = static_cast<double>(batch);
  for (int64_t b = 0; b < batch; ++b) {
    Tokens hyp = TokensOf(in, "Hyps", "HypsLength", b);
    Tokens ref = TokensOf(in, "Refs", "RefsLength", b);
    for (const int64_t ignored : GetAttr<Tokens>(op, "ignored_tokens")) {
      std::erase(hyp, ignored);
      std::erase(ref, ignored);
    }
    std::function<int64_t(size_t, size_t)> rest = [&](size_t i, size_t j) {
      if (i == hyp.size()) return static_cast<int64_t>(ref.size() - j);
      if (j == ref.size()) return static_cast<int64_t>(hyp.size() - i);
      if (hyp[i] == ref[j]) return rest(i + 1, j + 1);
      return 1 + std::min({rest(i + 1, j), rest(i, j + 1), rest(i + 1, j + 1)});
    };
    out(b, 0) = static_cast<double>(rest(0, 0));
    if (GetAttr<bool>(op, "normalized")) {
      out(b, 0) /= static_cast<double>(ref.size());
    }
  }
  return {{"Out", out}, {"SequenceNum", count}};
}

std::vector<OpExample> ChunkExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  for (const auto& [scheme, tags] : std::vector<std::pair<std::string, int>>{
           {"IOB", 2}, {"IOE", 2}, {"IOBES", 4}, {"plain", 1}}) {
    for (const DDim& dims : {DDim{3, 40}, {1, 1}, {0, 4}, {2, 0}, {300, 50}}) {
      const auto values = [&, most = 2 * tags] {
        return make.Integers(DType::kInt64, dims, 0, most);
      };
      OpExample example = {
          {{"Inference", values()}, {"Label", values()}},
          {{"num_chunk_types", int64_t{2}}, {"chunk_scheme", scheme}}};
      if (dims[0] == 3) {
        example.inputs.emplace_back(
            "SeqLength", make.Integers(DType::kInt64, {3}, 0, dims[1]));
        example.attributes["excluded_chunk_types"] = Tokens{1};
      }
      examples.push_back(example);
    }
  }
  return examples;
}

using ChunkSet = std::set<std::tuple<int64_t, int64_t, int64_t>>;

// conlleval's rules, with the letters of tags.
ChunkSet ChunksByLetters(const Tokens& tags, const OpDesc& op) {
  const auto& scheme = GetAttr<std::string>(op, "chunk_scheme");
  const std::string letters = scheme == "IOB"     ? "BI"
                              : scheme == "IOE"   ? "IE"
                              : scheme == "IOBES" ? "BIES"
                                                  : "I";
  const auto count = static_cast<int64_t>(letters.size());
  const auto letter = [&](int64_t tag) {
    return tag == 2 * count ? 'O' : letters[tag % count];
  };
  const auto& excluded = GetAttr<Tokens>(op, "excluded_chunk_types");
  ChunkSet chunks;
  int64_t first = 0;
  for (size_t i = 0; i < tags.size(); ++i) {
    const char now = letter(tags[i]);
    const int64_t type = tags[i] / count;
    const auto differs = [&](size_t other) {
      return letter(tags[other]) == 'O' || tags[other] / count != type;
    };
    const auto at = static_cast<int64_t>(i);
    if (now == 'O') continue;
    const bool begins = i == 0 || differs(i - 1) || now == 'B' || now == 'S' ||
                        letter(tags[i - 1]) == 'E' ||
                        letter(tags[i - 1]) == 'S';
    if (begins) first = at;
    const bool last = i + 1 == tags.size() || differs(i + 1) || now == 'E' ||
                      now == 'S' || letter(tags[i + 1]) == 'B' ||
                      letter(tags[i + 1]) == 'S';
    const bool counts =
        std::find(excluded.begin(), excluded.end(), type) == excluded.end();
    if (last && counts) chunks.insert({first, at, type});
  }
  return chunks;
}

Arrays ChunkReference(const Arrays& in, const OpDesc& op) {
  double ours = 0, right = 0, both = 0;
  for (int64_t b = 0; b < in.at("Label").dims[0]; ++b) {
    const auto inferred =
        ChunksByLetters(TokensOf(in, "Inference", "SeqLength", b), op);
    const auto labels =
        ChunksByLetters(TokensOf(in, "Label", "SeqLength", b), op);
    ours += static_cast<double>(inferred.size());
    right += static_cast<double>(labels.size());
    for (const auto& chunk : inferred) {
      both += static_cast<double>(labels.count(chunk));
    }
  }
  Arrays out;
  const auto set = [&](const char* name, double value) {
    out[name] = Array({1});
    out[name](0) = value;
  };
  set("Precision", ours > 0 ? both / ours : 0);
  set("Recall", right > 0 ? both / right : 0);
  set("F1Score", both > 0 ? 2 * both / (ours + right) : 0);
  set("NumInferChunks", ours);
  set("NumLabelChunks", right);
  set("NumCorrectChunks", both);
  return out;
}

REGISTER_OP_CASE(edit_distance, EditDistanceExamples, EditDistanceReference);
REGISTER_OP_CASE(chunk_eval, ChunkExamples, ChunkReference);

}  // namespace
}  // namespace sluice::testing
