#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

Tensor Cast(const Tensor& x, DType dtype) {
  return RunOp("cast", {{"X", x}}, {{"dtype", dtype}})["Out"];
}

TEST(CastTest, PastTheRangeOfSmallFloatsFollowsTheAttributes) {
  const Tensor x = Tensor::FromVector<float>({2}, {1e6F, 1.5F});
  const auto cast = [&](DType dtype, AttributeMap attributes) {
    attributes["dtype"] = dtype;
    const Tensor out = RunOp("cast", {{"X", x}}, attributes)["Out"];
    return Cast(out, DType::kFloat32).ToVector<float>();
  };
  EXPECT_EQ(cast(DType::kFloat8E5M2, {}), (std::vector<float>{57344, 1.5F}));
  EXPECT_EQ(cast(DType::kFloat8E5M2, {{"saturate", false}}),
            (std::vector<float>{std::numeric_limits<float>::infinity(), 1.5F}));
  const auto power = [&](const char* mode) {
    return cast(DType::kFloat8E8M0FNU, {{"round_mode", std::string(mode)}})[1];
  };
  EXPECT_EQ(power("up"), 2);
  EXPECT_EQ(power("down"), 1);
  EXPECT_EQ(power("nearest"), 2);
}

TEST(CastTest, LargeUnsignedNumbersAreRoundedOnce) {
  constexpr uint64_t kTie = (uint64_t{257} << 55);
  const Tensor x =
      Tensor::FromVector<uint64_t>({3}, {kTie, kTie + 1, UINT64_MAX});
  EXPECT_EQ(Cast(Cast(x, DType::kBFloat16), DType::kFloat64).ToVector<double>(),
            (std::vector<double>{0x1p63, 0x1.02p63, 0x1p64}));
  EXPECT_EQ(Cast(x, DType::kInt16).ToVector<int16_t>(),
            (std::vector<int16_t>{0, 1, -1}));
  const Tensor floats = Tensor::FromVector<double>({3}, {1e30, -1, 0x1p63});
  EXPECT_EQ(Cast(floats, DType::kUInt64).ToVector<uint64_t>(),
            (std::vector<uint64_t>{UINT64_MAX, 0, uint64_t{1} << 63}));
}

}  // namespace
}  // namespace sluice
