// What kernel_check.h finds: kernels with one mistake each, and none of those
// that are right. Sluice's own kernels are checked by Ops/CheckedKernels.
#include "tests/laboratory/wrong_kernels/wrong_kernel.h"
#include <gtest/gtest.h>

#include "sluice/laboratory/kernel_check.h"

namespace sluice::testing {
namespace {

TEST(WrongKernels, EachIsFoundAndRightOnesAreNot) {
  int wrong = 0;
  for (const KernelDef* kernel :
       wrong_kernels::LoadWrongKernels(SLUICE_WRONG_KERNELS)) {
    KernelCheckOptions options;
    options.most_failing = 1;
    const auto reports = CheckKernels({&kernel, 1}, options);
    ASSERT_EQ(reports.size(), 1U);
    EXPECT_GT(reports[0].examples, 0) << ToString(*kernel);
    const bool is_right = kernel->variant == "right";
    // Races show only where two processors have nothing else to do.
    if (kernel->variant == "race") continue;
    EXPECT_EQ(reports[0].mistakes.empty(), is_right)
        << ToString(*kernel) << ": "
        << (is_right ? reports[0].mistakes.front().message : "not found");
    wrong += is_right ? 0 : 1;
  }
  EXPECT_GE(wrong, 50);
}

}  // namespace
}  // namespace sluice::testing
