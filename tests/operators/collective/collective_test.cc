#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"
#include "sluice/platform/error.h"

namespace sluice {
namespace {

using sluice::testing::ExpectError;
using sluice::testing::InferOpShapes;

TEST(Collective, GatheredPartsAreAsManyAsThereAreRanks) {
  const AttributeMap four = {{"nranks", int64_t{4}}};
  EXPECT_EQ(InferOpShapes("c_allgather", {{"X", {3, 5}}}, four).at("Out"),
            DDim({12, 5}));
  EXPECT_EQ(InferOpShapes("c_allgather", {{"X", {-1, 5}}}, four).at("Out"),
            DDim({kUnknownDim, 5}));
  EXPECT_EQ(InferOpShapes("c_reducescatter", {{"X", {12, 5}}}, four).at("Out"),
            DDim({3, 5}));
}

TEST(Collective, RefusesPartsThatDoNotFit) {
  constexpr int64_t kMax = INT64_MAX;
  ExpectError(ErrorCode::kInvalidArgument, "c_allgather.overflow",
              {"4 parts of X"}, [] {
                InferOpShapes("c_allgather", {{"X", {kMax / 2}}},
                              {{"nranks", int64_t{4}}});
              });
  ExpectError(ErrorCode::kInvalidArgument, "c_reducescatter.parts",
              {"X [6]", "4 ranks"}, [] {
                InferOpShapes("c_reducescatter", {{"X", {6}}},
                              {{"nranks", int64_t{4}}});
              });
}

TEST(Collective, OfOneRankRefusesAttributesForMore) {
  const Tensor x = Tensor::FromVector<float>({4}, {1, 2, 3, 4});
  const std::pair<const char*, AttributeMap> calls[] = {
      {"c_allgather", {{"nranks", int64_t{2}}}},
      {"c_reducescatter", {{"nranks", int64_t{2}}}},
      {"c_broadcast", {{"root", int64_t{1}}}}};
  for (const auto& [op, attributes] : calls) {
    ExpectError(
        ErrorCode::kInvalidArgument,
        attributes.contains("root") ? "collective.root" : "collective.nranks",
        {op}, [&, type = op, given = attributes] {
          RunOp(type, {{"X", x}}, given);
        });
  }
}

TEST(BatchParts, DividesTheFirstDim) {
  const AttributeMap two = {{"parts", int64_t{2}}};
  EXPECT_EQ(InferOpShapes("batch_parts", {{"X", {6, 5}}}, two).at("Out"),
            DDim({2, 3, 5}));
  EXPECT_EQ(InferOpShapes("batch_parts", {{"X", {-1}}}, two).at("Out"),
            DDim({2, kUnknownDim}));
  ExpectError(ErrorCode::kInvalidArgument, "batch_parts.rows",
              {"X [5]", "2 equal parts"}, [&] {
                InferOpShapes("batch_parts", {{"X", {5}}}, two);
              });
  ExpectError(ErrorCode::kInvalidArgument, "batch_parts.rank",
              {"expected at most"}, [&] {
                DDim dims;
                while (dims.rank() < DDim::kMaxRank)
                  dims.InsertDim(0, 2);
                InferOpShapes("batch_parts", {{"X", dims}}, two);
              });
}

// The order matters: 1 is lost when added to 2^24, 2 is not.
TEST(PairwiseSum, AddsNeighboursFirst) {
  constexpr float kLarge = 1 << 24;
  const auto sum = [](std::vector<float> terms) {
    const auto n = static_cast<int64_t>(terms.size());
    const auto x = Tensor::FromVector<float>({n}, std::move(terms));
    return RunOp("pairwise_sum", {{"X", x}})["Out"].data<float>()[0];
  };
  EXPECT_EQ(sum({kLarge, 0, 1, 1}), kLarge + 2);
  EXPECT_EQ(sum({kLarge, 1, 0, 1}), kLarge);
  EXPECT_EQ(sum({1, 1, kLarge}), kLarge + 2);
  EXPECT_EQ(sum({}), 0);
}

}  // namespace
}  // namespace sluice
