#include <vector>

#include "tests/operators/harness/op_case.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

TEST(Assign, GivesACopyOfItsOwn) {
  Tensor x = Tensor::FromVector<float>({3}, {1, -2, 3});
  const Tensor out = RunOp("assign", {{"X", x}})["Out"];
  x.data<float>()[0] = 7;
  EXPECT_EQ(out.ToVector<float>(), (std::vector<float>{1, -2, 3}));
}

}  // namespace
}  // namespace sluice

// The case with which the harness tests every kernel of the op.
namespace sluice::testing {
namespace {

std::vector<OpExample> AssignExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  for (const DDim& dims : {DDim{3, 5}, {}, {1}, {4, 0}, {271, 301}}) {
    examples.push_back({{{"X", make.Values(dims)}}, {}});
  }
  return examples;
}

Arrays AssignReference(const Arrays& in, const OpDesc& /*op*/) {
  return {{"Out", in.at("X")}};
}

REGISTER_OP_CASE(assign, AssignExamples, AssignReference);

}  // namespace
}  // namespace sluice::testing
