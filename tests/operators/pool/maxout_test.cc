#include "tests/operators/harness/infer_op_shapes.h"
#include "tests/operators/harness/op_case.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

namespace sluice {
namespace {

using ::sluice::testing::InferOpShapes;

AttributeMap Groups(int64_t groups) {
  return {{"groups", groups}};
}

TEST(MaxOutTest, InfersWhatIsKnown) {
  const auto infer = [](const DDim& x) {
    return InferOpShapes("maxout", {{"X", x}}, Groups(2))["Out"];
  };
  EXPECT_EQ(infer({-1, 4, -1, 3}), DDim({-1, 2, -1, 3}));
  EXPECT_EQ(infer({1, -1, 2, 2}), DDim({1, -1, 2, 2}));
  EXPECT_EQ(infer(DDim::UnknownRank()), DDim({-1, -1, -1, -1}));
}

}  // namespace
}  // namespace sluice
