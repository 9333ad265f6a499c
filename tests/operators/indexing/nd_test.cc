
#include "tests/operators/harness/infer_op_shapes.h"
#include <gtest/gtest.h>

// gather_nd and scatter_nd.
namespace sluice {
namespace {

using ::sluice::testing::InferOpShapes;

TEST(Nd, InferWhatIsKnown) {
  const auto infer = [](const DDim& x, const DDim& index) {
    return InferOpShapes("gather_nd", {{"X", x}, {"Index", index}})["Out"];
  };
  EXPECT_EQ(infer({-1, 3}, {-1, 1}), DDim({-1, 3}));
  EXPECT_FALSE(infer({-1, 3}, {4, -1}).rank_known());
  EXPECT_FALSE(infer(DDim::UnknownRank(), {4, 1}).rank_known());
  EXPECT_EQ(InferOpShapes("scatter_nd", {{"X", {-1, 3}},
                                         {"Index", {4, -1}},
                                         {"Updates", {4, 3}}})["Out"],
            DDim({-1, 3}));
}

}  // namespace
}  // namespace sluice
