#include "tests/operators/harness/infer_op_shapes.h"
#include <gtest/gtest.h>

namespace sluice {
namespace {

using ::sluice::testing::InferOpShapes;

TEST(Determinant, InfersWhatIsKnown) {
  const auto shape = [](const DDim& x) {
    return InferOpShapes("determinant", {{"X", x}}).at("Out");
  };
  EXPECT_EQ(shape({-1, 2, -1, 3}), DDim({-1, 2}));
  EXPECT_EQ(shape({3, 3}), DDim());
  EXPECT_FALSE(shape(DDim::UnknownRank()).rank_known());
}

}  // namespace
}  // namespace sluice
