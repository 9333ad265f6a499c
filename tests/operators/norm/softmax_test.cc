#include <cmath>
#include <limits>
#include <vector>

#include "tests/operators/harness/harness.h"
#include "tests/operators/harness/infer_op_shapes.h"
#include "tests/operators/harness/op_case.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> Softmax(const std::vector<float>& x, int64_t axis = -1) {
  const auto size = static_cast<int64_t>(x.size());
  const Tensor row = Tensor::FromVector<float>({1, size, 1}, x);
  return RunOp("softmax", {{"X", row}}, {{"axis", axis}})["Out"]
      .ToVector<float>();
}

TEST(Softmax, MinusInfinityHasNoPart) {
  EXPECT_EQ(Softmax({0, -kInfinity, 0}, 1),
            (std::vector<float>{0.5F, 0, 0.5F}));
}

// The choice of a kernel must not decide whether a NaN is seen.
TEST(Softmax, EveryKernelKeepsNanAndInfinityAtEverySize) {
  using ::sluice::testing::Array;
  for (const KernelDef* kernel : ::sluice::testing::KernelsOf("softmax")) {
    for (const auto& dims : {DDim{2, 3}, DDim{64, 1000}}) {
      for (const double bad : {std::nan(""), double{kInfinity}}) {
        SCOPED_TRACE(ToString(*kernel) + " " + ToString(dims));
        Array x(dims);
        x(1, 2) = bad;
        const Array out = ::sluice::testing::ToArray(
            RunOp("softmax",
                  {{"X", ::sluice::testing::ToTensor(x, kernel->key.dtype)}},
                  {}, {.hint = ::sluice::testing::HintFor(*kernel)})["Out"]);
        for (int64_t i = 0; i < dims[1]; ++i) {
          ASSERT_TRUE(std::isnan(out(1, i))) << i;
          ASSERT_FALSE(std::isnan(out(0, i))) << i;
        }
      }
    }
  }
}

std::vector<float> LogSoftmax(const std::vector<float>& x) {
  const auto size = static_cast<int64_t>(x.size());
  const Tensor row = Tensor::FromVector<float>({1, size, 1}, x);
  return RunOp("log_softmax", {{"X", row}}, {{"axis", int64_t{1}}})["Out"]
      .ToVector<float>();
}

// Softmax would be 0 here, with a logarithm of -inf.
TEST(LogSoftmax, KeepsWhatSoftmaxRoundsTo0) {
  EXPECT_EQ(LogSoftmax({1000, 0}), (std::vector<float>{0, -1000}));
  EXPECT_EQ(LogSoftmax({1e30F, -1e30F}), (std::vector<float>{0, -2e30F}));
  EXPECT_EQ(LogSoftmax({0, -kInfinity}), (std::vector<float>{0, -kInfinity}));
  EXPECT_FLOAT_EQ(LogSoftmax({5, 5})[0], -std::log(2.0F));
}

TEST(LogSoftmax, NanAndInfinityMakeAllNan) {
  for (const float bad : {std::nanf(""), kInfinity}) {
    for (const int64_t size : {2, 17, 40}) {
      std::vector<float> x(size, 1);
      x[1] = bad;
      for (const float value : LogSoftmax(x)) {
        EXPECT_TRUE(std::isnan(value));
      }
    }
  }
}

}  // namespace
}  // namespace sluice
