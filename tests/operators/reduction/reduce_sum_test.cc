#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using testing::ExpectError;
using testing::InferOpShapes;
using Ints = std::vector<int64_t>;

Tensor ReduceSum(const Tensor& x, const AttributeMap& attributes = {}) {
  return RunOp("reduce_sum", {{"X", x}}, attributes).at("Out");
}

template <typename T>
class ReduceSumTest : public ::testing::Test {};
using Numbers = ::testing::Types<float, double, int32_t, int64_t>;
TYPED_TEST_SUITE(ReduceSumTest, Numbers);

TYPED_TEST(ReduceSumTest, SumsOverTheDimensionsNamed) {
  using T = TypeParam;
  const auto x = Tensor::FromVector<T>({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor columns = ReduceSum(x, {{"dim", Ints{0}}});
  EXPECT_EQ(columns.dims(), DDim({3}));
  EXPECT_EQ(columns.ToVector<T>(), (std::vector<T>{5, 7, 9}));
  const Tensor rows = ReduceSum(x, {{"dim", Ints{-1}}, {"keep_dim", true}});
  EXPECT_EQ(rows.dims(), DDim({2, 1}));
  EXPECT_EQ(rows.ToVector<T>(), (std::vector<T>{6, 15}));
}

TYPED_TEST(ReduceSumTest, SumsOverAllByDefault) {
  using T = TypeParam;
  const auto x = Tensor::FromVector<T>({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor sum = ReduceSum(x);
  EXPECT_EQ(sum.dims(), DDim());
  EXPECT_EQ(sum.ToVector<T>(), std::vector<T>{21});
  EXPECT_EQ(ReduceSum(x, {{"dim", Ints{0}}, {"reduce_all", true}}).dims(),
            DDim());
  EXPECT_EQ(ReduceSum(x, {{"keep_dim", true}}).dims(), DDim({1, 1}));
}

TEST(ReduceSum, Halves) {
  const float16 one{0x3C00};
  const auto x =
      Tensor::FromVector<float16>({4096}, std::vector<float16>(4096, one));
  EXPECT_EQ(ReduceSum(x).ToVector<float16>()[0], float16{0x6C00});
  const bfloat16 other{0x3F80};
  const auto y =
      Tensor::FromVector<bfloat16>({4096}, std::vector<bfloat16>(4096, other));
  EXPECT_EQ(ReduceSum(y).ToVector<bfloat16>()[0], bfloat16{0x4580});
}

TEST(ReduceSum, InfersUnknownShapes) {
  EXPECT_EQ(InferOpShapes("reduce_sum", {{"X", {-1, 3}}}, {{"dim", Ints{1}}})
                .at("Out"),
            DDim({-1}));
  EXPECT_EQ(InferOpShapes("reduce_sum", {{"X", DDim::UnknownRank()}}).at("Out"),
            DDim());
  EXPECT_FALSE(InferOpShapes("reduce_sum", {{"X", DDim::UnknownRank()}},
                             {{"dim", Ints{1}}})
                   .at("Out")
                   .rank_known());
}

TEST(ReduceSumGrad, RepeatsTheGradient) {
  const auto x = Tensor::FromVector<float>({2, 2}, {0, 0, 0, 0});
  const auto grad = Tensor::FromVector<float>({2}, {5, 6});
  EXPECT_EQ(RunOp("reduce_sum_grad", {{"X", x}, {"Out@GRAD", grad}},
                  {{"dim", Ints{1}}})["X@GRAD"]
                .ToVector<float>(),
            (std::vector<float>{5, 5, 6, 6}));
  ExpectError(
      ErrorCode::kInvalidArgument, "infer_shape.merge_rank",
      {"reduce_sum_grad", "Out@GRAD"}, [] {
        InferOpShapes("reduce_sum_grad", {{"X", {2, 2}}, {"Out@GRAD", {2}}});
      });
}

}  // namespace
}  // namespace sluice
