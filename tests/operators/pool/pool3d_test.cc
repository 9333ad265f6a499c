#include <cmath>
#include <string>
#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include "tests/operators/harness/op_case.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using testing::InferOpShapes;
using Ints = std::vector<int64_t>;
using Floats = std::vector<float>;

Tensor Line(const Floats& x) {
  return Tensor::FromVector({1, 1, 1, 1, static_cast<int64_t>(x.size())}, x);
}

Floats Pool3dPool(const Floats& x, AttributeMap attributes) {
  return RunOp("pool3d", {{"X", Line(x)}}, attributes)["Out"].ToVector<float>();
}

TEST(Pool3d, WindowsOfNothingHaveNoMaximum) {
  AttributeMap attributes = {{"ksize", Ints{1, 1, 2}},
                             {"dilations", Ints{1, 1, 4}},
                             {"paddings", Ints{0, 0, 2}}};
  EXPECT_EQ(Pool3dPool({3}, attributes), (Floats{-HUGE_VALF}));
  attributes["pooling_type"] = std::string("avg");
  EXPECT_TRUE(std::isnan(Pool3dPool({3}, attributes)[0]));
  attributes["exclusive"] = false;
  EXPECT_EQ(Pool3dPool({3}, attributes), (Floats{0}));
}

TEST(Pool3d, MaskIsWhereTheFirstMaximumIs) {
  const float nan = std::nanf("");
  const Tensor x = Tensor::FromVector<float>(
      {1, 2, 1, 2, 3}, {1, 5, 5, 2, 5, 0, 7, nan, 1, nan, 0, 9});
  const auto mask =
      RunOp("pool3d", {{"X", x}},
            {{"ksize", Ints{1, 2, 2}}, {"pooling_type", std::string("max")}},
            {.outputs = {"Mask"}})["Mask"];
  EXPECT_EQ(mask.ToVector<int64_t>(), (Ints{1, 1, 7, 7}));
}

TEST(Pool3d, InfersShapes) {
  const auto out = InferOpShapes("pool3d", {{"X", {-1, 2, 7, -1, 6}}},
                                 {{"ksize", Ints{2, 3, 2}},
                                  {"strides", Ints{2, 1, 3}},
                                  {"dilations", Ints{2, 1, 2}},
                                  {"paddings", Ints{0, 1, 0, 0, 2, 1}}});
  EXPECT_EQ(out.at("Out"), DDim({-1, 2, 3, -1, 3}));
  EXPECT_EQ(out.at("Mask"), DDim({-1, 2, 3, -1, 3}));
}

}  // namespace
}  // namespace sluice
