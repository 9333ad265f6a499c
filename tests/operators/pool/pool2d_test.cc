#include <string>
#include <vector>

#include "tests/operators/harness/infer_op_shapes.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using testing::InferOpShapes;
using Ints = std::vector<int64_t>;

DDim OutDims(const DDim& x, const AttributeMap& attributes) {
  return InferOpShapes("pool2d", {{"X", x}}, attributes).at("Out");
}

TEST(Pool2d, InfersShapes) {
  EXPECT_EQ(OutDims({2, 3, 7, 8}, {{"ksize", Ints{3, 2}},
                                   {"strides", Ints{2, 3}},
                                   {"paddings", Ints{1, 0}}}),
            DDim({2, 3, 4, 3}));
  EXPECT_EQ(OutDims({-1, -1, 8, 3}, {{"ksize", Ints{2, 2}},
                                     {"data_format", std::string("NHWC")}}),
            DDim({-1, -1, 7, 3}));
  EXPECT_EQ(OutDims(DDim::UnknownRank(), {{"ksize", Ints{2, 2}}}),
            DDim({-1, -1, -1, -1}));
}

}  // namespace
}  // namespace sluice
