#include "tests/operators/harness/op_case.h"
#include "tests/operators/optimizer/optimizer_examples.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice::testing {
namespace {

Tensor Vector(const std::vector<float>& values) {
  return Tensor::FromVector<float>({static_cast<int64_t>(values.size())},
                                   values);
}

TEST(Sgd, RefusesOtherShapes) {
  ExpectError(ErrorCode::kInvalidArgument, "infer_shape.merge_dim",
              {"sgd", "Param", "[2]", "Grad", "[3]"}, [] {
                RunOp("sgd", {{"Param", Vector({1, 2})},
                              {"Grad", Vector({1, 2, 3})},
                              {"LearningRate", Vector({1})}});
              });
  ExpectError(ErrorCode::kInvalidArgument, "infer_shape.merge_dim",
              {"sgd", "LearningRate", "[2]"}, [] {
                RunOp("sgd", {{"Param", Vector({1, 2})},
                              {"Grad", Vector({1, 2})},
                              {"LearningRate", Vector({1, 2})}});
              });
}

std::vector<OpExample> SgdExamples(ExampleMaker& make) {
  return UpdateExamples(make, {});
}

Arrays SgdReference(const Arrays& in, const OpDesc& /*op*/) {
  Array out = in.at("Param");
  for (size_t i = 0; i < out.values.size(); ++i) {
    out.values[i] -= in.at("LearningRate")(0) * in.at("Grad").values[i];
  }
  return {{"ParamOut", out}};
}

REGISTER_OP_CASE(sgd, SgdExamples, SgdReference);

}  // namespace
}  // namespace sluice::testing
