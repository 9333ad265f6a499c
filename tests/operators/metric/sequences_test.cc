#include <vector>

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
