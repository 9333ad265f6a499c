#include "tests/operators/harness/infer_op_shapes.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

// arg_max and arg_min.
namespace sluice {
namespace {

using ::sluice::testing::InferOpShapes;

TEST(ArgBest, InfersWhatIsKnown) {
  const auto infer = [](const DDim& x, const AttributeMap& attributes) {
    return InferOpShapes("arg_max", {{"X", x}}, attributes)["Out"];
  };
  EXPECT_EQ(infer({-1, -1, 3}, {{"axis", int64_t{1}}}), DDim({-1, 3}));
  EXPECT_EQ(infer({-1, 3}, {{"keepdims", true}}), DDim({1, 3}));
  EXPECT_EQ(infer({-1, 3}, {{"flatten", true}}), DDim());
  EXPECT_EQ(infer({-1, 3}, {{"flatten", true}, {"keepdims", true}}),
            DDim({1, 1}));
  EXPECT_EQ(infer(DDim::UnknownRank(), {{"flatten", true}}), DDim());
  EXPECT_FALSE(infer(DDim::UnknownRank(), {}).rank_known());
}

}  // namespace
}  // namespace sluice
