#include "sluice/laboratory/kernel_check.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/laboratory/lab_ops.h"
#include "tests/testing/expect_error.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

KernelReport Check(const std::string& variant,
                   const KernelCheckOptions& options = {}) {
  UseLabOps();
  const UseVariants use({variant});
  const KernelDef* kernel = FindKernel("test_lab", variant, DType::kFloat32);
  return CheckKernels({&kernel, 1}, options).at(0);
}

TEST(CheckKernels, NamesThePlantedMistake) {
  const std::map<std::string, std::string> checks = {
      {"thousandth", "values"},       {"nan_lost", "NaN"},
      {"skips", "elements"},          {"overruns", "bounds"},
      {"overruns_scratch", "bounds"}, {"fickle", "reruns"},
      {"scribbles", "inputs"},        {"raises", "raises"},
      {"raises_foreign", "raises"},   {"greedy", "memory"}};
  for (const auto& [variant, check] : checks) {
    SCOPED_TRACE(variant);
    const KernelReport report = Check(variant);
    ASSERT_FALSE(report.mistakes.empty());
    EXPECT_EQ(report.mistakes[0].check, check) << report.mistakes[0].message;
    EXPECT_THAT(report.mistakes[0].signature, HasSubstr("X float32 ["));
  }
}

TEST(CheckKernels, FindsAMistakeInTheTailOfVectors) {
  const KernelReport report = Check("tail");
  ASSERT_FALSE(report.mistakes.empty());
  EXPECT_THAT(report.mistakes[0].message, HasSubstr(" is 0, test_lab/plain"));
}

TEST(CheckKernels, FindsNothingInARightKernel) {
  const KernelReport report = Check("fast");
  EXPECT_THAT(report.mistakes, IsEmpty());
  EXPECT_GT(report.examples, 20);
  EXPECT_EQ(report.refused, 0);
  EXPECT_LE(report.error, 1);
}

TEST(CheckKernels, TriesNoElementOneAndTheLengthsOfVectors) {
  std::set<std::string> signatures;
  std::set<int> threads;
  KernelCheckOptions options;
  options.before = [&](int, int count, const std::string& signature,
                       const std::string&) {
    signatures.insert(signature);
    threads.insert(count);
  };
  Check("fast", options);
  for (const char* dims : {"[]", "[1]", "[5, 0]", "[3, 8]", "[3, 15]",
                           "[3, 16]", "[3, 17]", "[3, 33]", "[2, 131, 521]"}) {
    EXPECT_THAT(signatures, Contains(std::string("X float32 ") + dims));
  }
  EXPECT_EQ(threads, (std::set<int>{1, 2, 4}));
}

TEST(CheckKernels, RunsOnlyTheExampleThatIsAskedFor) {
  KernelCheckOptions options;
  options.only = 2;
  options.threads = {1};
  const KernelReport report = Check("thousandth", options);
  EXPECT_EQ(report.examples, 1);
  ASSERT_THAT(report.mistakes, SizeIs(1));
  EXPECT_EQ(report.mistakes[0].example, 2);
}

TEST(CheckKernels, TriesExamplesThatItIsGiven) {
  KernelCheckOptions options;
  options.examples = ParseExamples(
      R"({"op": "test_lab", "inputs": [["X", "T", [5], 0, 1]]})", "here");
  options.most_others = 0;
  const KernelReport report = Check("fast", options);
  EXPECT_EQ(report.examples, 1);
}

TEST(CheckKernels, SayWhyNoExampleWasRun) {
  KernelCheckOptions options;
  options.only = 9999;
  EXPECT_THAT(Check("fast", options).remark,
              HasSubstr("there is no example 9999, they are 0 to "));
  options.only = -1;
  options.most_others = 0;
  options.examples = ParseExamples(
      R"({"op": "test_lab", "inputs": [["Y", "T", [5], 0, 1]]})", "here");
  EXPECT_THAT(Check("fast", options).remark,
              HasSubstr("example 0, Y float32 [5]: "));
}

TEST(CheckKernels, TakesTheOpsOwnExamplesWhereNoneOfItIsGiven) {
  KernelCheckOptions options;
  options.examples = ParseExamples(
      R"({"op": "relu", "inputs": [["X", "T", [5], 0, 1]]})", "here");
  EXPECT_EQ(Check("fast", options).examples, Check("fast").examples);
}

TEST(CheckKernels, AreOfOneOpAndDType) {
  UseLabOps();
  const std::vector<const KernelDef*> kernels = {
      FindKernel("test_lab", "plain", DType::kFloat32),
      FindKernel("test_lab", "plain", DType::kFloat64)};
  ExpectError(ErrorCode::kInvalidArgument, "kernel_check.kernels",
              {"one op and dtype", "float32", "float64"},
              [&] { CheckKernels(kernels); });
}

}  // namespace
}  // namespace sluice::testing
