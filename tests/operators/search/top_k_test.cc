#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using ::sluice::testing::InferOpShapes;

AttributeMap TopK(int64_t k) {
  return {{"k", k}};
}

TEST(TopKTest, TakesTheSmallestByLowerIndex) {
  const Tensor x = Tensor::FromVector<float>({4}, {2, 1, 1, 3});
  auto out = RunOp("top_k", {{"X", x}}, {{"largest", false}});
  EXPECT_EQ(out["Out"].ToVector<float>(), std::vector<float>({1}));
  EXPECT_EQ(out["Indices"].ToVector<int64_t>(), std::vector<int64_t>({1}));
}

TEST(TopKTest, InfersWhatIsKnown) {
  EXPECT_EQ(InferOpShapes("top_k", {{"X", {-1, -1}}}, TopK(3))["Indices"],
            DDim({-1, 3}));
  EXPECT_FALSE(
      InferOpShapes("top_k", {{"X", DDim::UnknownRank()}}, TopK(3))["Out"]
          .rank_known());
}

TEST(TopKTest, MayBeOfNoElementsOrOfANumber) {
  auto none = RunOp("top_k", {{"X", Tensor::FromVector<float>({2, 1}, {1, 2})}},
                    TopK(0));
  EXPECT_EQ(none["Out"].dims(), DDim({2, 0}));
  EXPECT_EQ(none["Indices"].dims(), DDim({2, 0}));
  auto one =
      RunOp("top_k", {{"X", Tensor::FromVector<float>({}, {3})}}, TopK(1));
  EXPECT_EQ(one["Out"].dims(), DDim());
  EXPECT_EQ(one["Out"].ToVector<float>(), (std::vector<float>{3}));
  EXPECT_EQ(one["Indices"].ToVector<int64_t>(), (std::vector<int64_t>{0}));
}

}  // namespace
}  // namespace sluice
