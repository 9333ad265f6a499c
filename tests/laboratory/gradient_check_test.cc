#include "sluice/laboratory/gradient_check.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(CheckGradient, FindsNothingInARightOne) {
  for (const char* op : {"tanh", "mul", "relu", "elementwise_add", "conv2d"}) {
    SCOPED_TRACE(op);
    const OpSchema& schema = Registry::Global().Schema(op);
    const KernelReport report = CheckGradient(schema, schema.gradient_fn());
    EXPECT_THAT(report.mistakes, IsEmpty()) << report.mistakes[0].message;
    EXPECT_GT(report.examples, 5);
  }
}

// The gradient of 1 / (1 + exp(-x)), which is similar.
std::vector<OpDesc> GradientOfSigmoid(const OpDesc& forward) {
  OpDesc other = forward;
  other.type = "sigmoid";
  return Registry::Global().Schema("sigmoid").gradient_fn()(other);
}

TEST(CheckGradient, NamesAWrongOne) {
  const KernelReport report =
      CheckGradient(Registry::Global().Schema("tanh"), GradientOfSigmoid);
  ASSERT_THAT(report.mistakes, SizeIs(1));
  EXPECT_EQ(report.mistakes[0].check, "gradient");
  EXPECT_THAT(report.mistakes[0].message,
              HasSubstr("the gradient of element 0 of X is "));
  EXPECT_THAT(report.mistakes[0].message, HasSubstr("by differences "));
}

}  // namespace
}  // namespace sluice::testing
