#include <vector>

#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/op/registry.h"
#include "sluice/framework/run/run_op.h"
#include "sluice/platform/parallel_for.h"

// gather_elements and scatter_elements.
namespace sluice {
namespace {

using ::sluice::testing::ExpectError;
using Floats = std::vector<float>;

Tensor Index(const DDim& dims, const std::vector<int64_t>& values) {
  return Tensor::FromVector<int64_t>(dims, values);
}

Tensor Of(const DDim& dims, const Floats& values) {
  return Tensor::FromVector<float>(dims, values);
}

Tensor Gather(const Tensor& x, const Tensor& index, int64_t axis = 0) {
  return RunOp("gather_elements", {{"X", x}, {"Index", index}},
               {{"axis", axis}})["Out"];
}

// Every thread may find one; the error must name the first.
TEST(GatherElements, NamesTheFirstIndexOutOfRange) {
  const ThreadCountGuard threads(4);
  std::vector<int64_t> values(300000, 0);
  values[70001] = values[140002] = values[299999] = 9;
  ExpectError(ErrorCode::kOutOfRange, "indexing.range_at_run",
              {"Index[70001] = 9"}, [&] {
                Gather(Of({2}, {1, 2}), Index({300000}, values));
              });
}

TEST(GatherElements, CountsNegativeIndicesFromTheEnd) {
  const Tensor x = Of({2, 3}, {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(Gather(x, Index({2, 2}, {-1, 0, -3, 2}), 1).ToVector<float>(),
            Floats({2, 0, 3, 5}));
  EXPECT_EQ(Gather(x, Index({2, 2}, {-1, 0, -2, 1}), 0).ToVector<float>(),
            Floats({3, 1, 0, 4}));
}

// No product of such an index may overflow.
TEST(GatherElements, RefusesTheLargestIndices) {
  for (const int64_t index : {INT64_MAX, INT64_MIN}) {
    ExpectError(
        ErrorCode::kOutOfRange, "indexing.range_at_run", {"Index[1, 0] = "},
        [&] {
          Gather(Of({2, 3}, {0, 1, 2, 3, 4, 5}), Index({2, 1}, {0, index}), 0);
        });
  }
}

}  // namespace
}  // namespace sluice
