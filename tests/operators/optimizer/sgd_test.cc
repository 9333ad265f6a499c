#include "tests/operators/harness/op_case.h"
#include "tests/operators/optimizer/optimizer_examples.h"

namespace sluice::testing {
namespace {

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
