#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

template <typename T>
std::vector<T> Clip(const std::vector<T>& x, const AttributeMap& bounds) {
  const DDim dims({static_cast<int64_t>(x.size())});
  const Tensor out =
      RunOp("clip", {{"X", Tensor::FromVector(dims, x)}}, bounds)["Out"];
  return out.ToVector<T>();
}

TEST(Clip, CutsNothingByDefault) {
  const std::vector<float> x = {-kInfinity, -0.0F, 3, kInfinity};
  EXPECT_EQ(Clip<float>(x, {}), x);
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const std::vector<int64_t> ends = {kLeast, kLeast + 1, kMost - 1, kMost};
  EXPECT_EQ(Clip<int64_t>(ends, {}), ends);
  const std::vector<uint8_t> bytes = {0, 255};
  EXPECT_EQ(Clip<uint8_t>(bytes, {}), bytes);
}

TEST(Clip, NanStaysNan) {
  EXPECT_TRUE(std::isnan(Clip<float>({kNan}, {{"min", 0.0}, {"max", 1.0}})[0]));
  const float16 nan{0x7E00};
  EXPECT_GT(Clip<float16>({nan}, {{"max", 1.0}})[0].bits & 0x7FFF, 0x7C00);
}

TEST(Clip, BoundsOfIntegersAreRoundedInwardsAndWithinTheirRange) {
  const std::vector<int8_t> x = {-128, -2, 0, 2, 127};
  EXPECT_EQ(Clip<int8_t>(x, {{"min", -1.5}, {"max", 1.5}}),
            (std::vector<int8_t>{-1, -1, 0, 1, 1}));
  EXPECT_EQ(Clip<int8_t>(x, {{"min", -1e300}, {"max", 1e300}}), x);
  EXPECT_EQ(Clip<int8_t>(x, {{"min", 300.0}}), std::vector<int8_t>(5, 127));
  EXPECT_EQ(Clip<uint8_t>({0, 7}, {{"max", -3.0}}),
            (std::vector<uint8_t>{0, 0}));
}

TEST(ClipGrad, IsThatOfOutWhereNothingWasCut) {
  const Tensor x = Tensor::FromVector<float>({6}, {-2, -1, 0, 1, 2, kNan});
  const Tensor grad = Tensor::FromVector<float>({6}, {3, 4, 5, 6, 7, 8});
  EXPECT_EQ(RunOp("clip_grad", {{"X", x}, {"Out@GRAD", grad}},
                  {{"min", -1.0}, {"max", 1.0}})["X@GRAD"]
                .ToVector<float>(),
            (std::vector<float>{0, 4, 5, 6, 0, 8}));
}

}  // namespace

}  // namespace sluice
