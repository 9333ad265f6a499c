#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using ::sluice::testing::InferOpShapes;

const Tensor kTable = Tensor::FromVector<float>({3, 2}, {1, 2, 3, 4, 5, 6});

Tensor Lookup(const DDim& dims,
              const std::vector<int64_t>& ids,
              const AttributeMap& attributes = {}) {
  return RunOp("lookup_table",
               {{"W", kTable}, {"Ids", Tensor::FromVector(dims, ids)}},
               attributes)["Out"];
}

TEST(LookupTable, ALastDimensionOf1IsNoDimensionOfOut) {
  EXPECT_EQ(Lookup({2, 1}, {2, 0}).dims(), DDim({2, 2}));
  EXPECT_EQ(Lookup({1}, {2}).dims(), DDim({1, 2}));
  EXPECT_EQ(Lookup({2, 1}, {2, 0}, {{"drop_last_dim", false}}).dims(),
            DDim({2, 1, 2}));
  EXPECT_EQ(InferOpShapes("lookup_table", {{"W", {9, 4}}, {"Ids", {-1, -1}}})
                .at("Out"),
            DDim({-1, -1, 4}));
}

}  // namespace
}  // namespace sluice
