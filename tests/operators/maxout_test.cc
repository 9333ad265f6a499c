#include <bit>
#include <vector>

#include "tests/operators/infer_op_shapes.h"
#include "tests/testing/expect_error.h"
#include <Eigen/Core>
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

AttributeMap Groups(int64_t groups) {
  return {{"groups", groups}};
}

TEST(MaxOutTest, TakesTheMaximumOfNeighbouringChannels) {
  const Tensor x =
      Tensor::FromVector<double>({2, 4, 1, 1}, {1, 2, 4, 3, -1, -2, -4, -3});
  const Tensor out = RunOp("maxout", {{"X", x}}, Groups(2))["Out"];
  EXPECT_EQ(out.dims(), DDim({2, 2, 1, 1}));
  EXPECT_EQ(out.ToVector<double>(), std::vector<double>({2, 4, -1, -3}));
}

TEST(MaxOutTest, TakesHalfPrecision) {
  std::vector<platform::float16> values;
  for (float value : {-1.0F, 0.5F}) {
    values.push_back(std::bit_cast<platform::float16>(Eigen::half(value)));
  }
  const Tensor x = Tensor::FromVector(DDim({1, 2, 1, 1}), values);
  EXPECT_EQ(RunOp("maxout", {{"X", x}}, Groups(2))["Out"]
                .ToVector<platform::float16>(),
            std::vector<platform::float16>({values[1]}));
}

TEST(MaxOutTest, SizesOf0GiveAnEmptyResult) {
  for (const DDim& dims : {DDim{0, 4, 2, 2}, DDim{2, 0, 2, 2}, DDim{2, 4, 0, 2},
                           DDim{2, 4, 2, 0}}) {
    DDim out = dims;
    out[1] /= 2;
    const Tensor x = Tensor::FromVector<float>(dims, {});
    EXPECT_EQ(RunOp("maxout", {{"X", x}}, Groups(2))["Out"].dims(), out);
    auto grad =
        RunOp("maxout_grad",
              {{"X", x}, {"Out@GRAD", Tensor::FromVector<float>(out, {})}},
              Groups(2));
    EXPECT_EQ(grad["X@GRAD"].dims(), dims);
  }
}

TEST(MaxOutTest, RefusesGroupsThatDoNotDivide) {
  ExpectError(ErrorCode::kInvalidArgument, "maxout.groups",
              {"maxout: groups = 3 does not divide the 4 channels of input X",
               "[1, 4, 2, 2]"},
              [] {
                InferOpShapes("maxout", {{"X", {1, 4, 2, 2}}}, Groups(3));
              });
}

TEST(MaxOutTest, RefusesGroupsBelow1) {
  for (int64_t groups : {0, -1}) {
    ExpectError(
        ErrorCode::kInvalidArgument, "op.attribute_limit",
        {"maxout", "groups", "at least 1"}, [&] {
          InferOpShapes("maxout", {{"X", {1, 4, 2, 2}}}, Groups(groups));
        });
  }
}

TEST(MaxOutTest, RefusesAnotherRank) {
  ExpectError(ErrorCode::kInvalidArgument, "infer_shape.rank",
              {"maxout", "X", "[4, 2, 2]"}, [] {
                InferOpShapes("maxout", {{"X", {4, 2, 2}}}, Groups(2));
              });
}

TEST(MaxOutTest, InfersWhatIsKnown) {
  const auto infer = [](const DDim& x) {
    return InferOpShapes("maxout", {{"X", x}}, Groups(2))["Out"];
  };
  EXPECT_EQ(infer({-1, 4, -1, 3}), DDim({-1, 2, -1, 3}));
  EXPECT_EQ(infer({1, -1, 2, 2}), DDim({1, -1, 2, 2}));
  EXPECT_EQ(infer(DDim::UnknownRank()), DDim({-1, -1, -1, -1}));
}

TEST(MaxOutGradTest, GivesTheGradientToTheFirstMaximum) {
  const Tensor x = Tensor::FromVector<float>({1, 4, 1, 1}, {2, 2, 1, 3});
  const Tensor out_grad = Tensor::FromVector<float>({1, 2, 1, 1}, {5, 7});
  const Tensor grad = RunOp("maxout_grad", {{"X", x}, {"Out@GRAD", out_grad}},
                            Groups(2))["X@GRAD"];
  EXPECT_EQ(grad.ToVector<float>(), std::vector<float>({5, 0, 0, 7}));
}

TEST(MaxOutGradTest, RefusesAGradientOfAnotherShape) {
  ExpectError(ErrorCode::kInvalidArgument, "infer_shape.merge_dim",
              {"maxout_grad", "Out@GRAD"}, [] {
                InferOpShapes("maxout_grad",
                              {{"X", {1, 4, 1, 1}}, {"Out@GRAD", {1, 4, 1, 1}}},
                              Groups(2));
              });
}

}  // namespace
}  // namespace sluice::operators
