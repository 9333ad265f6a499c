#include "tests/operators/harness/harness.h"

#include <cstdio>
#include <string>

#include "tests/laboratory/wrong_kernels/wrong_kernel.h"
#include "tests/operators/harness/verifying.h"
#include "tests/testing/child_process.h"
#include <gtest/gtest.h>

#include "sluice/laboratory/kernel_check.h"

// The harness finds the kernels of tests/laboratory/wrong_kernels, and none of
// those that are right.
namespace sluice::testing {
namespace {

// Returns the check that the kernel fails with the examples of its op's case,
// or that CheckKernels finds; "" for none.
std::string FailedCheck(const KernelDef& kernel) {
  const OpCase& op_case = OpCases().at(kernel.op);
  ExampleMaker make(kernel.key.dtype);
  std::string failed;
  for (const OpExample& example : op_case.examples(make)) {
    VisitIsolated(kernel.op, example, [&](const IsolatedOp& op) {
      const Arrays want = op_case.reference(
          InputArrays(example), DescribeExample(kernel.op, example));
      const Verifier verifier(op,
                              ToReference(op, want, op_case.SlackOf(kernel)),
                              Registry::Global());
      const auto found = Verify(kernel, op, verifier);
      if (found.check != "refused") failed = found.check;
    });
    if (!failed.empty()) return failed;
  }
  // Bad labels, larger numbers and other sizes.
  if (kernel.variant == "right") return "";
  const KernelDef* const one = &kernel;
  KernelCheckOptions options;
  options.most_failing = 1;
  const auto report = CheckKernels({&one, 1}, options).at(0);
  return report.mistakes.empty() ? "" : report.mistakes[0].check;
}

int CheckWrongKernels() {
  int mistakes = 0;
  int wrong = 0;
  for (const KernelDef* kernel :
       wrong_kernels::LoadWrongKernels(SLUICE_WRONG_KERNELS)) {
    // Races show only where two processors have nothing else to do.
    if (kernel->variant == "race") continue;
    const std::string failed = FailedCheck(*kernel);
    wrong += failed.empty() ? 0 : 1;
    if ((kernel->variant == "right") == failed.empty()) continue;
    std::printf("%s: %s\n", ToString(*kernel).c_str(),
                failed.empty() ? "not found" : failed.c_str());
    ++mistakes;
  }
  return mistakes == 0 && wrong >= 50 ? 0 : 1;
}

const ChildBody kWrongKernels("wrong_kernels", &CheckWrongKernels);

// In another process, because other tests must not use these kernels.
TEST(HarnessNotices, EveryWrongKernel) {
  if (!CanStartItself()) GTEST_SKIP() << "it runs itself with options";
  ChildProcess child({"--child=wrong_kernels"});
  EXPECT_EQ(child.Finish(), "exit 0") << child.output();
}

}  // namespace
}  // namespace sluice::testing
