#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include "tests/operators/harness/op_case.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

namespace sluice {
namespace {

using ::sluice::testing::InferOpShapes;
using Ints = std::vector<int64_t>;

TEST(Conv3d, InfersShapes) {
  const auto shape = [](const char* op, const DDim& x, const DDim& filter) {
    return InferOpShapes(op, {{"Input", x}, {"Filter", filter}, {"Bias", {8}}},
                         {{"strides", Ints{2, 1, 1}}, {"groups", int64_t{2}}})
        .at("Output");
  };
  EXPECT_EQ(shape("conv3d", {-1, 4, 7, -1, 5}, {8, 2, 3, 2, 1}),
            DDim({-1, 8, 3, -1, 5}));
  EXPECT_EQ(shape("conv3d", {2, -1, 7, 4, 5}, DDim::UnknownRank()),
            DDim({2, 8, -1, -1, -1}));
  EXPECT_EQ(shape("conv3d_transpose", {2, 4, 7, -1, 5}, {4, -1, 3, 2, 1}),
            DDim({2, 8, 15, -1, 5}));
}

}  // namespace
}  // namespace sluice
