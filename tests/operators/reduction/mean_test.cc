#include <vector>

#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

TEST(Mean, AHalfsSumMayBeLargerThanAHalf) {
  const float16 big{0x7800};  // 32768
  const Tensor x = Tensor::FromVector({4}, std::vector(4, big));
  EXPECT_EQ(RunOp("mean", {{"X", x}})["Out"].ToVector<float16>()[0], big);
}

}  // namespace
}  // namespace sluice
