#include <algorithm>
#include <limits>
#include <stdexcept>

#include "tests/operators/harness/harness.h"
#include "tests/operators/harness/kernel_choice.h"
#include "tests/testing/child_process.h"
#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

// Tests of the harness itself: it detects faults, and nothing else.
namespace sluice::testing {
namespace {

template <typename T>
Tensor Row(const std::vector<T>& values) {
  return Tensor::FromVector<T>({static_cast<int64_t>(values.size())}, values);
}

Array Numbers(const std::vector<double>& values) {
  Array array({static_cast<int64_t>(values.size())});
  array.values = values;
  return array;
}

TEST(HarnessNotices, AWrongElement) {
  const Tensor got = Row<float>({1, 2, 3.001f});
  EXPECT_NONFATAL_FAILURE(ExpectNear(got, Numbers({1, 2, 3}), 1),
                          "element 2 of float32 [3] at cpu is 3.00099");
  ExpectNear(Row<float>({1, 2, 3.000001f}), Numbers({1, 2, 3}), 1);
}

TEST(HarnessNotices, AnIntegerThatIsOneOff) {
  EXPECT_NONFATAL_FAILURE(
      ExpectNear(Row<int32_t>({1000001}), Numbers({1000000}), 1), "element 0");
}

TEST(HarnessNotices, ANaNWhereANumberBelongs) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NONFATAL_FAILURE(ExpectNear(Row<double>({nan}), Numbers({0}), 1),
                          "is nan, expected 0");
  EXPECT_NONFATAL_FAILURE(ExpectNear(Row<double>({0}), Numbers({nan}), 1),
                          "is 0, expected nan");
  ExpectNear(Row<double>({nan}), Numbers({nan}), 1);
}

TEST(HarnessNotices, OtherBitsOfTheSameNumber) {
  EXPECT_NONFATAL_FAILURE(
      ExpectSameBits(Row<float>({0.0f}), Row<float>({-0.0f})), "element 0");
  ExpectSameBits(Row<float>({-0.0f}), Row<float>({-0.0f}));
}

TEST(HarnessNotices, AReferenceThatReadsOutOfBounds) {
  const Array array({2, 3});
  EXPECT_THAT(
      [&] {
        array.Offset({1, 3});
      },
      ::testing::ThrowsMessage<std::out_of_range>(
          ::testing::HasSubstr("reads index 3 of [2, 3]")));
  EXPECT_EQ(array.Offset({1, 2}), 5u);
}

TEST(HarnessNotices, ALostDeviceAndRunsNothingAfterwards) {
  const KernelDef& kernel = *KernelsOf("relu").front();
  ExampleMaker make(kernel.key.dtype);
  const OpExample example{{{"X", make.Values({3})}}, {}};
  const auto fail = [&](ErrorCode code) {
    ReportFailure(kernel, Error(code, "cuda.call", "it is gone"));
  };
  EXPECT_NONFATAL_FAILURE(fail(ErrorCode::kInternal), "it is gone");
  EXPECT_TRUE(RunKernel(kernel, example).has_value());
  EXPECT_NONFATAL_FAILURE(fail(ErrorCode::kDeviceLost), "it is gone");
  EXPECT_NONFATAL_FAILURE(RunKernel(kernel, example),
                          "the device was lost before, by relu");
  LossOfDevice().clear();
}

TEST(HarnessNotices, AnOptionThatIsNone) {
  if (!CanStartItself()) GTEST_SKIP() << "it runs itself with options";
  for (const auto& [option, said] :
       {std::pair{"--kernels=tpu", "--kernels=tpu: expected --kernels=cpu"},
        std::pair{"--kernel=cuda", "no option of this program"},
        std::pair{"stray", "no option of this program"}}) {
    ChildProcess child({option});
    EXPECT_EQ(child.Finish(), "exit 2");
    EXPECT_NE(child.output().find(said), std::string::npos) << child.output();
  }
  ChildProcess child({"--kernels=cpu", "--gtest_filter=HarnessMaker.*"});
  EXPECT_EQ(child.Finish(), "exit 0") << child.output();
}

TEST(HarnessMaker, MakesDoublesThatAreFarEnoughApart) {
  ExampleMaker make(DType::kFloat64);
  std::vector<double> all = make.Values({30, 40}).ToVector<double>();
  const auto more = make.Values({300}).ToVector<double>();
  all.insert(all.end(), more.begin(), more.end());
  std::sort(all.begin(), all.end());
  for (size_t i = 1; i < all.size(); ++i) {
    EXPECT_GT(all[i] - all[i - 1], 0.99 * ExampleMaker::kSpacing);
  }
}

TEST(HarnessMaker, MakesNumbersThatEveryDTypeHolds) {
  for (DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    ExampleMaker make(dtype);
    const Tensor values = make.Values({100});
    ExpectNear(values, ToArray(ToTensor(ToArray(values), DType::kBFloat16)), 0);
  }
}

}  // namespace
}  // namespace sluice::testing
