#include "tests/operators/harness/infer_op_shapes.h"
#include <gtest/gtest.h>

namespace sluice {
namespace {

using ::sluice::testing::InferOpShapes;

TEST(LookupTable, InfersWhatIsKnown) {
  EXPECT_EQ(InferOpShapes("lookup_table", {{"W", {9, 4}}, {"Ids", {-1, -1}}})
                .at("Out"),
            DDim({-1, -1, 4}));
}

}  // namespace
}  // namespace sluice
