#include <vector>

#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

// layer_norm, rms_norm, instance_norm and group_norm.
namespace sluice {
namespace {

using Floats = std::vector<float>;

TEST(GroupNorm, IsInstanceNormOfOneChannelAndLayerNormOfAll) {
  Floats values(2 * 6 * 5);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i * i % 23);
  }
  const Tensor x = Tensor::FromVector<float>({2, 6, 5}, values);
  const auto group_norm = [&](int64_t groups) {
    return RunOp("group_norm", {{"X", x}}, {{"groups", groups}})["Y"]
        .ToVector<float>();
  };
  EXPECT_EQ(group_norm(6),
            RunOp("instance_norm", {{"X", x}})["Y"].ToVector<float>());
  EXPECT_EQ(group_norm(1),
            RunOp("layer_norm", {{"X", x}})["Y"].ToVector<float>());
  EXPECT_NE(group_norm(2), group_norm(3));
}

}  // namespace
}  // namespace sluice
