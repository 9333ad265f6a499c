#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include <gtest/gtest.h>

namespace sluice {
namespace {

using ::sluice::testing::InferOpShapes;
using Ints = std::vector<int64_t>;

DDim Inferred(const DDim& x, const Ints& shape) {
  return InferOpShapes("reshape", {{"X", x}}, {{"shape", shape}})["Out"];
}

TEST(ReshapeTest, ZeroCopiesAndMinus1Infers) {
  EXPECT_EQ(Inferred({4, 6}, {0, 2, -1}), DDim({4, 2, 3}));
  EXPECT_EQ(Inferred({4, 6}, {-1}), DDim({24}));
  EXPECT_EQ(Inferred({}, {1, 1}), DDim({1, 1}));
  EXPECT_EQ(Inferred({1}, {}), DDim({}));
}

TEST(ReshapeTest, InfersWhatIsKnown) {
  EXPECT_EQ(Inferred({-1, 8, 6}, {-1, 48}), DDim({-1, 48}));
  EXPECT_EQ(Inferred({-1, 8, 6}, {0, -1}), DDim({-1, 48}));
  EXPECT_EQ(Inferred(DDim::UnknownRank(), {0, -1, 3}), DDim({-1, -1, 3}));
  EXPECT_EQ(InferOpShapes("reshape_grad", {{"X", {-1, 3}}, {"Out@GRAD", {7}}})
                .at("X@GRAD"),
            DDim({-1, 3}));
}

}  // namespace
}  // namespace sluice
