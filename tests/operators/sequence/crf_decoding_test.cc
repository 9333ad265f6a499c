#include "tests/operators/harness/infer_op_shapes.h"
#include <gtest/gtest.h>

namespace sluice {
namespace {

using testing::InferOpShapes;

TEST(CrfDecoding, InfersUnknownShapes) {
  EXPECT_EQ(InferOpShapes("crf_decoding", {{"Emission", {-1, 4, -1}},
                                           {"Transition", {4, 2}},
                                           {"Length", {3}}})["ViterbiPath"],
            DDim({3, 4}));
}

}  // namespace
}  // namespace sluice
