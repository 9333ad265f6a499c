#include <string>
#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using testing::ExpectError;
using testing::InferOpShapes;

Tensor BiasAdd(const Tensor& x,
               const Tensor& bias,
               const std::string& data_format = "NCHW") {
  return RunOp("bias_add", {{"X", x}, {"Bias", bias}},
               {{"data_format", data_format}})
      .at("Out");
}

template <typename T>
class BiasAddTest : public ::testing::Test {};
using BiasAddFloats = ::testing::Types<float, double>;
TYPED_TEST_SUITE(BiasAddTest, BiasAddFloats);

TYPED_TEST(BiasAddTest, ChannelsAreDimOneForNchw) {
  using T = TypeParam;
  const auto x = Tensor::FromVector<T>({2, 2, 1, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  const auto bias = Tensor::FromVector<T>({2}, {10, 20});
  const Tensor out = BiasAdd(x, bias);
  EXPECT_EQ(out.dims(), x.dims());
  EXPECT_EQ(out.ToVector<T>(),
            (std::vector<T>{10, 11, 22, 23, 14, 15, 26, 27}));
}

TYPED_TEST(BiasAddTest, ChannelsAreTheLastDimForNhwc) {
  using T = TypeParam;
  const auto x = Tensor::FromVector<T>({2, 1, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  const auto bias = Tensor::FromVector<T>({2}, {10, 20});
  EXPECT_EQ(BiasAdd(x, bias, "NHWC").template ToVector<T>(),
            (std::vector<T>{10, 21, 12, 23, 14, 25, 16, 27}));
}

TEST(BiasAdd, InfersUnknownShapes) {
  EXPECT_EQ(InferOpShapes("bias_add", {{"X", {-1, -1, 4, 4}}, {"Bias", {8}}})
                .at("Out"),
            DDim({-1, 8, 4, 4}));
}

TEST(BiasAddGrad, SumsOverEachChannel) {
  const auto grad = Tensor::FromVector<float>({2, 2, 2}, {1, 2, 3, 4,  //
                                                          5, 6, 7, 8});
  auto grads = RunOp("bias_add_grad", {{"Out@GRAD", grad}}, {},
                     {.outputs = {"X@GRAD", "Bias@GRAD"}});
  EXPECT_EQ(grads["X@GRAD"].ToVector<float>(), grad.ToVector<float>());
  EXPECT_EQ(grads["Bias@GRAD"].ToVector<float>(), (std::vector<float>{14, 22}));
  ExpectError(ErrorCode::kInvalidArgument, "infer_shape.rank_at_least",
              {"bias_add_grad", "Out@GRAD", "rank 2"}, [] {
                InferOpShapes("bias_add_grad", {{"Out@GRAD", {3}}});
              });
}

}  // namespace
}  // namespace sluice
