#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

// layer_norm, rms_norm, instance_norm and group_norm.
namespace sluice {
namespace {

using ::sluice::testing::InferOpShapes;
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

TEST(RowNorm, InfersWhatIsKnown) {
  const auto shapes =
      InferOpShapes("layer_norm", {{"X", {-1, 3, 4}}, {"Scale", {12}}},
                    {{"begin_norm_axis", int64_t{-2}}});
  EXPECT_EQ(shapes.at("Mean"), DDim({-1}));
  EXPECT_EQ(shapes.at("Y"), DDim({-1, 3, 4}));
  EXPECT_EQ(InferOpShapes("instance_norm", {{"X", {-1, -1, 4}}, {"Scale", {3}}})
                .at("Mean"),
            DDim({-1, 3}));
  EXPECT_EQ(
      InferOpShapes("group_norm", {{"X", {7, -1, 4}}}, {{"groups", int64_t{2}}})
          .at("Variance"),
      DDim({7, 2}));
}

}  // namespace
}  // namespace sluice
