#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include <gtest/gtest.h>

namespace sluice {
namespace {

using ::sluice::testing::InferOpShapes;
using Ints = std::vector<int64_t>;

TEST(CropTest, InfersWhatIsKnown) {
  const AttributeMap columns = {{"offsets", Ints{0, 0, 1}},
                                {"shape", Ints{-1, 8, 6}}};
  EXPECT_EQ(InferOpShapes("crop", {{"X", {-1, 8, 8}}}, columns)["Out"],
            DDim({-1, 8, 6}));
  EXPECT_EQ(InferOpShapes("crop", {{"X", DDim::UnknownRank()}}, columns)["Out"],
            DDim({-1, 8, 6}));
  EXPECT_EQ(InferOpShapes("crop", {{"X", {4, 4}}, {"Y", {2, -1}}})["Out"],
            DDim({2, -1}));
}

}  // namespace
}  // namespace sluice
