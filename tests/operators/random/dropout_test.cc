#include <vector>

#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

std::vector<float> Dropout(const std::vector<float>& x,
                           const AttributeMap& attributes) {
  const auto size = static_cast<int64_t>(x.size());
  return RunOp("dropout", {{"X", Tensor::FromVector<float>({size}, x)}},
               attributes)["Out"]
      .ToVector<float>();
}

TEST(Dropout, LeavesOutAboutAsManyAsAsked) {
  int left_out = 0;
  for (const float value :
       Dropout(std::vector<float>(10'000, 3), {{"dropout_prob", 0.25}})) {
    left_out += value == 0 ? 1 : 0;
    if (value != 0) {
      EXPECT_FLOAT_EQ(value, 4);
    }
  }
  EXPECT_NEAR(left_out, 2500, 150);
}

}  // namespace
}  // namespace sluice
