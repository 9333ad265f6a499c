#include "sluice/laboratory/prediction.h"

#include "tests/framework/test_ops.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/executor.h"
#include "sluice/platform/error.h"

namespace sluice {
namespace {

TEST(Prediction, NamesTheKernelThatRaisesWhileItIsMeasured) {
  sluice::testing::UseTestOps();
  Program program;
  program.Data("x", DType::kFloat32, {3});
  const std::string end =
      sluice::testing::Append(&program, "test_fail", {{"X", {"x"}}});
  const Feeds feeds = {{"x", sluice::testing::Iota({3})}};
  const auto plan = Executor().Prepare(program, feeds, {end});
  const sluice::testing::FailTestOps fail(20);
  sluice::testing::ExpectError(ErrorCode::kInternal, "predict.raised",
                               {"test_fail", "raised by itself", "told to"},
                               [&] { Predict(*plan, feeds, nullptr); });
}

}  // namespace
}  // namespace sluice
