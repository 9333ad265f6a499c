#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

// Ops whose output sizes depend on data.
namespace sluice {
namespace {

using Floats = std::vector<float>;
using Ints = std::vector<int64_t>;
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

Tensor F(const DDim& dims, const Floats& values) {
  return Tensor::FromVector<float>(dims, values);
}

Tensor Flags(const std::vector<int>& values) {
  Tensor flags;
  bool* out = flags.mutable_data<bool>({static_cast<int64_t>(values.size())},
                                       CPUPlace());
  for (const int value : values) {
    *out++ = value != 0;
  }
  return flags;
}

TEST(Nonzero, GivesIndicesInRowMajorOrder) {
  const Tensor out =
      RunOp("nonzero", {{"X", F({2, 3}, {0, 1, kNaN, -0.0F, 0, -2})}})["Out"];
  EXPECT_EQ(out.dims(), DDim({2, 3}));
  EXPECT_EQ(out.ToVector<int64_t>(), (Ints{0, 0, 1, 1, 2, 2}));
  const Tensor scalar = RunOp("nonzero", {{"X", F({}, {3})}})["Out"];
  EXPECT_EQ(scalar.dims(), DDim({0, 1}));
}

TEST(Compress, TakesAnotherNumberOfFlagsThanOfSlices) {
  const Tensor x = F({3, 2}, {1, 2, 3, 4, 5, 6});
  const auto take = [&](const std::vector<int>& flags) {
    return RunOp("compress", {{"X", x}, {"Condition", Flags(flags)}})["Out"];
  };
  EXPECT_EQ(take({}).dims(), DDim({0, 2}));
  EXPECT_EQ(take({1, 0, 0, 0}).dims(), DDim({1, 2}));
}

TEST(Unique, TellsElementsApart) {
  const Tensor x = F({6}, {2, kNaN, 1, 2, kNaN, 1});
  auto out = RunOp("unique", {{"X", x}}, {},
                   {.outputs = {"Out", "Index", "Inverse", "Counts"}});
  const auto values = out["Out"].ToVector<float>();
  ASSERT_EQ(values.size(), 3u);
  EXPECT_EQ(values[0], 1);
  EXPECT_EQ(values[1], 2);
  EXPECT_TRUE(std::isnan(values[2]));
  EXPECT_EQ(out["Index"].ToVector<int64_t>(), (Ints{2, 0, 1}));
  EXPECT_EQ(out["Inverse"].ToVector<int64_t>(), (Ints{1, 2, 0, 1, 2, 0}));
  EXPECT_EQ(out["Counts"].ToVector<int64_t>(), (Ints{2, 2, 2}));
}

TEST(Unique, TellsSlicesApart) {
  const auto along = [](int64_t axis) {
    return RunOp("unique", {{"X", F({2, 3}, {2, 1, 2, 4, 3, 4})}},
                 {{"flatten", false}, {"axis", axis}})["Out"];
  };
  EXPECT_EQ(along(1).dims(), DDim({2, 2}));
  EXPECT_EQ(along(-1).ToVector<float>(), (Floats{1, 2, 3, 4}));
  EXPECT_EQ(along(0).dims(), DDim({2, 3}));
}

TEST(NonMaxSuppression, LeavesOutWhatOverlaps) {
  const Tensor boxes = F({1, 4, 4}, {0, 0, 1, 1, 0, 0.1F, 1, 1.1F,  //
                                     1, 1, 0, 0, 0, 10, 1, 11});
  const auto choose = [&](const Floats& scores, AttributeMap attributes) {
    attributes.emplace("max_output_boxes_per_class", int64_t{9});
    attributes.emplace("iou_threshold", 0.5);
    return RunOp("non_max_suppression",
                 {{"Boxes", boxes}, {"Scores", F({1, 1, 4}, scores)}},
                 std::move(attributes))["Out"]
        .ToVector<int64_t>();
  };
  EXPECT_EQ(choose({0.9F, 0.8F, 0.7F, 0.6F}, {}), (Ints{0, 0, 0, 0, 0, 3}));
  EXPECT_EQ(choose({0.5F, 0.8F, 0.8F, kNaN}, {}), (Ints{0, 0, 1}));
  EXPECT_EQ(choose({0.9F, 0.8F, 0.7F, 0.6F}, {{"score_threshold", 0.65}}),
            (Ints{0, 0, 0}));
  EXPECT_EQ(choose({0.9F, 0.8F, 0.7F, 0.6F},
                   {{"max_output_boxes_per_class", int64_t{0}}}),
            Ints());
}

}  // namespace
}  // namespace sluice
