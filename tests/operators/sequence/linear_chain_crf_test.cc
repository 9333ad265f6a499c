#include "tests/operators/harness/infer_op_shapes.h"
#include <gtest/gtest.h>

namespace sluice {
namespace {

using testing::InferOpShapes;

TEST(LinearChainCrf, InfersUnknownShapes) {
  EXPECT_EQ(InferOpShapes("linear_chain_crf", {{"Emission", {-1, -1, 2}},
                                               {"Transition", {4, 2}},
                                               {"Label", {5, -1}},
                                               {"Length", {-1}}})
                .at("LogLikelihood"),
            DDim({5, 1}));
  EXPECT_EQ(
      InferOpShapes("linear_chain_crf", {{"Emission", DDim::UnknownRank()},
                                         {"Transition", DDim::UnknownRank()},
                                         {"Label", DDim::UnknownRank()},
                                         {"Length", DDim::UnknownRank()}})
          .at("LogLikelihood"),
      DDim({-1, 1}));
}

}  // namespace
}  // namespace sluice
