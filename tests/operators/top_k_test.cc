#include <vector>

#include "tests/operators/infer_op_shapes.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run_op.h"

namespace sluice::operators {
namespace {

using framework::AttributeMap;
using framework::DDim;
using framework::RunOp;
using framework::Tensor;
using platform::ErrorCode;
using ::sluice::testing::ExpectError;
using ::sluice::testing::InferOpShapes;

AttributeMap TopK(int64_t k) {
  return {{"k", k}};
}

TEST(TopKTest, TakesTheLargestOfEachRow) {
  const Tensor x = Tensor::FromVector<double>({2, 1, 3}, {3, 1, 2, 4, 6, 6});
  auto out = RunOp("top_k", {{"X", x}}, TopK(2));
  EXPECT_EQ(out["Out"].dims(), DDim({2, 1, 2}));
  EXPECT_EQ(out["Out"].ToVector<double>(), std::vector<double>({3, 2, 6, 6}));
  EXPECT_EQ(out["Indices"].dims(), DDim({2, 1, 2}));
  EXPECT_EQ(out["Indices"].ToVector<int64_t>(),
            std::vector<int64_t>({0, 2, 1, 2}));
}

TEST(TopKTest, TakesTheSmallestByLowerIndex) {
  const Tensor x = Tensor::FromVector<float>({4}, {2, 1, 1, 3});
  auto out = RunOp("top_k", {{"X", x}}, {{"largest", false}});
  EXPECT_EQ(out["Out"].ToVector<float>(), std::vector<float>({1}));
  EXPECT_EQ(out["Indices"].ToVector<int64_t>(), std::vector<int64_t>({1}));
}

TEST(TopKTest, NoRowsGiveNone) {
  const Tensor x = Tensor::FromVector<float>({0, 3}, {});
  EXPECT_EQ(RunOp("top_k", {{"X", x}}, TopK(2))["Out"].dims(), DDim({0, 2}));
}

TEST(TopKTest, InfersWhatIsKnown) {
  EXPECT_EQ(InferOpShapes("top_k", {{"X", {-1, -1}}}, TopK(3))["Indices"],
            DDim({-1, 3}));
  EXPECT_FALSE(
      InferOpShapes("top_k", {{"X", DDim::UnknownRank()}}, TopK(3))["Out"]
          .rank_known());
}

TEST(TopKTest, RefusesAKThatRowsDoNotHave) {
  ExpectError(ErrorCode::kInvalidArgument, "top_k.k_range",
              {"top_k: k = 4", "[2, 3]"}, [] {
                InferOpShapes("top_k", {{"X", {2, 3}}}, TopK(4));
              });
  ExpectError(ErrorCode::kInvalidArgument, "top_k.k_range", {"k = 1", "[2, 0]"},
              [] {
                InferOpShapes("top_k", {{"X", {2, 0}}}, TopK(1));
              });
  ExpectError(ErrorCode::kInvalidArgument, "op.attribute_limit",
              {"top_k", "k", "at least 1"}, [] {
                InferOpShapes("top_k", {{"X", {2, 3}}}, TopK(0));
              });
}

TEST(TopKTest, RefusesAScalar) {
  ExpectError(ErrorCode::kInvalidArgument, "infer_shape.rank_at_least",
              {"top_k", "X"}, [] {
                InferOpShapes("top_k", {{"X", DDim()}}, TopK(1));
              });
}

}  // namespace
}  // namespace sluice::operators
