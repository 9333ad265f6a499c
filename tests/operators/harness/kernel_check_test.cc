#include "sluice/laboratory/kernel_check.h"

#include <map>
#include <string>
#include <vector>

#include "tests/operators/harness/harness.h"
#include "tests/operators/harness/kernel_choice.h"
#include "tests/operators/harness/op_case.h"
#include <gtest/gtest.h>

#include "sluice/framework/op/op_schema.h"

// The check for users' kernels finds no fault in ours.
namespace sluice::testing {
namespace {

// Rounding errors that pass from step to step: the bounds of the verifier count
// the terms of one step only.
bool IsRecurrent(const std::string& op) {
  const std::string forward = op.substr(0, op.find("_grad"));
  return forward == "simple_rnn" || forward == "gru" || forward == "lstm";
}

class CheckedKernels : public ::testing::TestWithParam<std::string> {};

TEST_P(CheckedKernels, AreFoundToBeRight) {
  std::map<DType, std::vector<const KernelDef*>> by_dtype;
  for (const KernelDef* kernel : KernelsOf(GetParam())) {
    // Emulated kernels take long, and the harness tests them.
    if (kernel->key.place == PlaceKind::kCPU && !CpuLacks(*kernel)) {
      by_dtype[kernel->key.dtype].push_back(kernel);
    }
  }
  KernelCheckOptions options;
  options.most_others = 4;
  options.threads = {2};
  for (const auto& [dtype, kernels] : by_dtype) {
    int examples = 0;
    bool shapes_are_known = true;
    for (const KernelReport& report : CheckKernels(kernels, options)) {
      examples += report.examples;
      shapes_are_known &=
          report.remark.find("follows from data") == std::string::npos;
      for (const auto& mistake : report.mistakes) {
        ADD_FAILURE() << ToString(*report.kernel) << " with "
                      << mistake.signature << ": " << mistake.check << ": "
                      << mistake.message;
      }
    }
    EXPECT_TRUE(examples > 0 || !shapes_are_known) << ToString(dtype);
  }
}

INSTANTIATE_TEST_SUITE_P(Ops,
                         CheckedKernels,
                         ::testing::ValuesIn([] {
                           std::vector<std::string> ops;
                           for (const auto& [op, unused] : OpCases()) {
                             if (Registry::Global().FindSchema(op) != nullptr &&
                                 !IsRecurrent(op)) {
                               ops.push_back(op);
                             }
                           }
                           return ops;
                         }()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace sluice::testing
