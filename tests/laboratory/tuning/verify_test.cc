#include "sluice/laboratory/tuning/verify.h"

#include <string>
#include <utility>

#include "tests/laboratory/lab_ops.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/laboratory/example_op.h"

namespace sluice::testing {
namespace {

using ::testing::HasSubstr;

class VerifierTest : public ::testing::Test {
 protected:
  KernelDef Kernel(const std::string& variant) {
    return *FindKernel("test_lab", variant, DType::kFloat32);
  }

  Verification Check(const Verifier& verifier,
                     const KernelDef& kernel,
                     const VerifyOptions& options = {}) {
    return verifier.Check(kernel, CPUPlace(), options);
  }

  const bool has_ops_ = (UseLabOps(), true);
  const ExampleOp made_{ExampleFromJson(
                            R"({"op": "test_lab",
                                "inputs": [["X", "T", [5], 0, 1]]})",
                            "here"),
                        DType::kFloat32};
  const Verifier plain_{made_.op(), Registry::Global()};
};

TEST_F(VerifierTest, OnlyPlainKernelsGiveTheSameBitsWithMoreThreads) {
  KernelDef kernel = Kernel("by_threads");
  const VerifyOptions options{.threads = {1, 2}};
  EXPECT_EQ(Check(plain_, kernel, options).verdict, Verdict::kOk);
  kernel.variant = "plain";
  const Verification found = Check(plain_, kernel, options);
  EXPECT_EQ(found.verdict, Verdict::kWrong);
  EXPECT_EQ(found.check, "threads");
  EXPECT_EQ(found.threads, 2);
  EXPECT_EQ(found.message,
            "Out[0] has other bits with 2 threads than with fewer");
}

TEST_F(VerifierTest, WithoutAReferenceAllButTheValuesIsChecked) {
  const Verifier verifier(made_.op(), Reference(), Registry::Global());
  for (const auto& [variant, check] :
       {std::pair{"skips", "elements"}, std::pair{"overruns", "bounds"},
        std::pair{"scribbles", "inputs"}, std::pair{"fickle", "reruns"},
        std::pair{"nan_lost", "NaN"}}) {
    EXPECT_EQ(Check(verifier, Kernel(variant)).check, check);
  }
  for (const char* variant : {"fast", "thousandth"}) {
    const Verification found = Check(verifier, Kernel(variant));
    EXPECT_EQ(found.check, "") << found.message;
    EXPECT_EQ(found.verdict, Verdict::kUnchecked);
  }
}

TEST_F(VerifierTest, AGivenReferenceDecides) {
  Reference reference{.name = "my table", .outputs = {{1, 1, 1, 1, 1}}};
  reference.bounds = {NaiveBound(DType::kFloat32, 1)};
  const Verifier verifier(made_.op(), reference, Registry::Global());
  const Verification found = Check(verifier, Kernel("fast"));
  EXPECT_EQ(found.check, "values");
  EXPECT_THAT(found.message, HasSubstr("my table gives 1"));
}

TEST_F(VerifierTest, EveryStepIsAnnounced) {
  std::string steps;
  VerifyOptions options{.threads = {1, 2}, .infinities = true};
  options.before = [&](int threads, const std::string& step) {
    steps += std::to_string(threads) + " " + step + ", ";
  };
  Check(plain_, Kernel("fast"), options);
  EXPECT_EQ(steps,
            "1 values, 1 NaN, 1 infinity, 1 infinity, 2 values, 2 NaN, ");
}

}  // namespace
}  // namespace sluice::testing
