#include <limits>
#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include "tests/operators/harness/op_case.h"
#include "tests/operators/sequence/crf_paths.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using testing::ExpectError;
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

TEST(CrfDecoding, RefusesBadInput) {
  ExpectError(ErrorCode::kOutOfRange, "crf.length",
              {"crf_decoding", "Length[0] = 3", "0 to 2"}, [] {
                Decode(OneSequence({0, 0, 0, 0}, Floats(8, 0), 3));
              });
  ExpectError(ErrorCode::kOutOfRange, "crf.label",
              {"crf_decoding", "Label[0, 1] = 2", "0 to 1"}, [] {
                Inputs inputs = OneSequence({0, 0, 0, 0}, Floats(8, 0), 2);
                inputs.emplace_back(
                    "Label", Tensor::FromVector<int64_t>({1, 2}, {0, 2}));
                Decode(inputs);
              });
  ExpectError(ErrorCode::kInvalidArgument, "crf.transition",
              {"crf_decoding", "[5, 3]", "[4, 2]"}, [] {
                InferOpShapes("crf_decoding", {{"Emission", {1, 2, 3}},
                                               {"Transition", {4, 2}},
                                               {"Length", {1}}});
              });
}

TEST(CrfDecoding, InfersUnknownShapes) {
  EXPECT_EQ(InferOpShapes("crf_decoding", {{"Emission", {-1, 4, -1}},
                                           {"Transition", {4, 2}},
                                           {"Length", {3}}})["ViterbiPath"],
            DDim({3, 4}));
}

}  // namespace
}  // namespace sluice

// The case with which the harness tests every kernel of the op.
namespace sluice::testing {
namespace {

std::vector<OpExample> DecodingExamples(ExampleMaker& make) {
  std::vector<OpExample> examples = CrfSequences(make, true);
  const size_t count = examples.size();
  for (size_t i = 0; i < count; ++i) {
    examples.push_back(examples[i]);
    examples[i].inputs.pop_back();
  }
  return examples;
}

Arrays DecodingReference(const Arrays& in, const OpDesc&) {
  const DDim& dims = in.at("Emission").dims;
  Array out({dims[0], dims[1]});
  for (int64_t b = 0; b < dims[0]; ++b) {
    CrfPath best;
    double best_score = 0;
    ForEachCrfPath(in, b, [&](const CrfPath& path, double score) {
      if (!best.empty() && score <= best_score) return;
      best = path;
      best_score = score;
    });
    for (size_t t = 0; t < best.size(); ++t) {
      const bool compare = in.count("Label") > 0;
      const auto tag = static_cast<double>(best[t]);
      out(b, t) = !compare ? tag : in.at("Label")(b, t) == tag ? 1.0 : 0.0;
    }
  }
  return {{"ViterbiPath", out}};
}

REGISTER_OP_CASE(crf_decoding, DecodingExamples, DecodingReference);

}  // namespace
}  // namespace sluice::testing
