#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

template <typename T>
class DivisionTest : public ::testing::Test {};
using Elements = ::testing::Types<int8_t, int32_t, int64_t>;
TYPED_TEST_SUITE(DivisionTest, Elements);

// The quotient rounded down and both remainders, by 0 all 0.
struct Divided {
  __int128 floor = 0, mod = 0, fmod = 0;
  Divided(__int128 x, __int128 y) {
    if (y == 0) return;
    fmod = x % y;
    const bool up = fmod != 0 && (fmod < 0) != (y < 0);
    mod = up ? fmod + y : fmod;
    floor = (x - mod) / y;
  }
};

// Blocks of numbers with and without large ones.
TYPED_TEST(DivisionTest, OfLimitsAndByZeroInEveryBlock) {
  using Limits = std::numeric_limits<TypeParam>;
  const std::vector<TypeParam> special = {
      Limits::min(), Limits::max(), TypeParam(-1), 0, 1, TypeParam(-7), 3};
  std::vector<TypeParam> x, y;
  for (int64_t i = 0; i < 500; ++i) {
    const bool small = i < 200;
    x.push_back(small ? TypeParam(i * 7 % 101 - 50) : special[i / 7 % 7]);
    y.push_back(small ? TypeParam(i % 13 - 6) : special[i % 7]);
  }
  const DDim dims({500});
  const auto run = [&](const std::string& op) {
    auto out = RunOp(op, {{"X", Tensor::FromVector(dims, x)},
                          {"Y", Tensor::FromVector(dims, y)}});
    return out["Out"].template ToVector<TypeParam>();
  };
  const auto floor = run("elementwise_floordiv");
  const auto mod = run("elementwise_mod"), fmod = run("elementwise_fmod");
  for (size_t i = 0; i < x.size(); ++i) {
    const Divided want(x[i], y[i]);
    const auto pair = std::to_string(x[i]) + " by " + std::to_string(y[i]);
    ASSERT_EQ(floor[i], static_cast<TypeParam>(want.floor)) << pair;
    ASSERT_EQ(mod[i], static_cast<TypeParam>(want.mod)) << pair;
    ASSERT_EQ(fmod[i], static_cast<TypeParam>(want.fmod)) << pair;
  }
}

}  // namespace
}  // namespace sluice
