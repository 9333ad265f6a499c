#include <numeric>
#include <vector>

#include "tests/operators/harness/op_case.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

TEST(Mean, AHalfsSumMayBeLargerThanAHalf) {
  const float16 big{0x7800};  // 32768
  const Tensor x = Tensor::FromVector({4}, std::vector(4, big));
  EXPECT_EQ(RunOp("mean", {{"X", x}})["Out"].ToVector<float16>()[0], big);
}

}  // namespace
}  // namespace sluice

// The case with which the harness tests every kernel of the op.
namespace sluice::testing {
namespace {

std::vector<OpExample> MeanExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  for (const DDim& dims : {DDim{3, 5}, {}, {1}, {4, 0}, {271, 301}}) {
    examples.push_back({{{"X", make.Values(dims)}}, {}});
  }
  return examples;
}

Arrays MeanReference(const Arrays& in, const OpDesc& /*op*/) {
  const Array& x = in.at("X");
  Array out{DDim()};
  out.values[0] = std::accumulate(x.values.begin(), x.values.end(), 0.0) /
                  static_cast<double>(x.values.size());
  return {{"Out", out}};
}

std::vector<OpExample> MeanGradExamples(ExampleMaker& make) {
  std::vector<OpExample> examples = MeanExamples(make);
  for (OpExample& example : examples) {
    example.inputs.emplace_back("Out@GRAD", make.Values({}));
  }
  return examples;
}

Arrays MeanGradReference(const Arrays& in, const OpDesc& /*op*/) {
  Array x_grad(in.at("X").dims);
  for (double& value : x_grad.values) {
    value =
        in.at("Out@GRAD").values[0] / static_cast<double>(x_grad.values.size());
  }
  return {{"X@GRAD", x_grad}};
}

REGISTER_OP_CASE(mean, MeanExamples, MeanReference);
REGISTER_OP_CASE(mean_grad, MeanGradExamples, MeanGradReference);

}  // namespace
}  // namespace sluice::testing
