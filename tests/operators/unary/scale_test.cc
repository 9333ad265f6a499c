#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

Tensor Scale(const Tensor& x,
             double scale,
             double bias = 0.0,
             bool bias_after_scale = true) {
  return RunOp("scale", {{"X", x}},
               {{"scale", scale},
                {"bias", bias},
                {"bias_after_scale", bias_after_scale}})
      .at("Out");
}

template <typename T>
class ScaleTest : public ::testing::Test {};
using Numbers = ::testing::Types<float, double, int32_t, int64_t>;
TYPED_TEST_SUITE(ScaleTest, Numbers);

TYPED_TEST(ScaleTest, MultipliesAndAdds) {
  const auto x = Tensor::FromVector<TypeParam>({3}, {1, -2, 3});
  EXPECT_EQ(Scale(x, 2, 5).template ToVector<TypeParam>(),
            (std::vector<TypeParam>{7, 1, 11}));
  EXPECT_EQ(Scale(x, -2, 5, false).template ToVector<TypeParam>(),
            (std::vector<TypeParam>{-12, -6, -16}));
}

TEST(Scale, HalvesRoundOnce) {
  // 2049 * 1 - 1 = 2048; 2049 itself is no float16.
  const float16 big{0x6800};  // 2048
  const auto x = Tensor::FromVector<float16>({1}, {big});
  EXPECT_EQ(Scale(x, 1.00048828125, -1).ToVector<float16>()[0], big);
  const auto b = Tensor::FromVector<bfloat16>({1}, {{0x3F80}});
  EXPECT_EQ(Scale(b, 3, -1).ToVector<bfloat16>()[0], bfloat16{0x4000});
}

TEST(Scale, IntegersWrapAround) {
  const auto x =
      Tensor::FromVector<int32_t>({1}, {std::numeric_limits<int32_t>::max()});
  EXPECT_EQ(Scale(x, 2).ToVector<int32_t>()[0], -2);
}

}  // namespace
}  // namespace sluice
