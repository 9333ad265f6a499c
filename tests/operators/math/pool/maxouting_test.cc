#include "sluice/operators/math/pool/maxouting.h"

#include <cmath>
#include <limits>
#include <vector>

#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

namespace sluice {
namespace {

using ::sluice::testing::ExpectError;

const CPUDeviceContext kContext;

std::vector<float> MaxOut(const Tensor& input, int groups, int64_t channels) {
  Tensor output;
  output.mutable_data<float>(
      {input.dims()[0], channels, input.dims()[2], input.dims()[3]},
      CPUPlace());
  MaxOutFunctor<CPUDeviceContext, float>()(kContext, input, &output, groups);
  return output.ToVector<float>();
}

TEST(MaxOutFunctor, LetsNaNWin) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const auto& values :
       {std::vector<float>{nan, 2}, std::vector<float>{2, nan}}) {
    const Tensor input = Tensor::FromVector<float>({1, 2, 1, 1}, values);
    EXPECT_TRUE(std::isnan(MaxOut(input, 2, 1)[0]));
  }
}

TEST(MaxOutFunctor, RefusesGroupsBelow1) {
  const Tensor input = Tensor::FromVector<float>({1, 2, 1, 1}, {1, 2});
  for (int groups : {0, -2}) {
    ExpectError(ErrorCode::kInvalidArgument, "maxout.functor_groups",
                {"maxout", "groups", "expected 1 or more"},
                [&] { MaxOut(input, groups, 1); });
  }
}

TEST(MaxOutFunctor, RefusesShapesThatDoNotFit) {
  const Tensor input = Tensor::FromVector<float>({1, 3, 1, 1}, {1, 2, 3});
  ExpectError(ErrorCode::kInvalidArgument, "maxout.functor_shapes",
              {"maxout", "[1, 3, 1, 1]", "groups = 2"},
              [&] { MaxOut(input, 2, 1); });
}

TEST(MaxOutGradFunctor, GivesTheGradientToTheFirstMaximum) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor input = Tensor::FromVector<float>(
      {1, 6, 1, 2}, {1, 5, 4, 5, 4, 0, nan, -1, 9, -2, nan, -1});
  const Tensor output_grad =
      Tensor::FromVector<float>({1, 2, 1, 2}, {10, 20, 30, 40});
  Tensor grad;
  grad.mutable_data<float>({1, 6, 1, 2}, CPUPlace());
  MaxOutGradFunctor<CPUDeviceContext, float>()(kContext, input, output_grad,
                                               &grad, 3);
  EXPECT_EQ(grad.ToVector<float>(),
            std::vector<float>({0, 20, 10, 0, 0, 0, 30, 40, 0, 0, 0, 0}));
}

}  // namespace
}  // namespace sluice
