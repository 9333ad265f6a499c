#include "tests/operators/harness/infer_op_shapes.h"
#include <gtest/gtest.h>

namespace sluice {
namespace {

using ::sluice::testing::InferOpShapes;

TEST(BatchNorm, InfersTheChannels) {
  EXPECT_EQ(InferOpShapes("batch_norm", {{"X", {-1, -1, 4, 4}},
                                         {"Scale", {8}},
                                         {"Bias", {-1}},
                                         {"Mean", {-1}},
                                         {"Variance", {-1}}})
                .at("SavedMean"),
            DDim({8}));
}

}  // namespace
}  // namespace sluice
