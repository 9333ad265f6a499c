#include "tests/operators/harness/harness.h"

#include <map>
#include <set>

#include "tests/operators/harness/kernel_choice.h"
#include "tests/operators/harness/verifying.h"
#include <gtest/gtest.h>

#include "sluice/framework/op/op_schema.h"
#include "sluice/memory/testing.h"
#include "sluice/platform/plugin/plugin_loader.h"

namespace sluice::testing {
namespace {

// The build runs this test, so that every op has a case.
TEST(OpCases, EveryRegisteredOpHasOne) {
  std::set<std::string> missing;
  for (const std::string& op : Registry::Global().OpNames()) {
    // Ops that only passes append cannot run alone (see fuse_pass_test.cc).
    // tests/operators/control_flow/stretches_test.cc tests ops that run blocks.
    const auto& schema = Registry::Global().Schema(op);
    if (schema.internal() || schema.holds_blocks()) continue;
    if (OpCases().count(op) == 0) missing.insert(op);
  }
  std::string list;
  for (const std::string& op : missing)
    list += " " + op;
  EXPECT_TRUE(missing.empty())
      << "no case for:" << list
      << "\nAdd one to tests/operators/cases, see case.py there, or "
         "REGISTER_OP_CASE(op, examples, reference), see op_case.h.";
  for (const auto& [op, unused] : OpCases()) {
    EXPECT_NE(Registry::Global().FindSchema(op), nullptr)
        << "there is a case for " << op << ", but no such op";
  }
}

// If the FPGA stub is built, its kernels are tested, too.
TEST(OpCases, KernelsOfPluginsAreTestedToo) {
  if (FindPlugin("fpga").empty()) GTEST_SKIP() << "no FPGA stub";
  int found = 0;
  const auto before = ChooseKernels(std::nullopt);
  for (const KernelDef* kernel : KernelsOf("manhattan_distance")) {
    if (kernel->key.place == PlaceKind::kFPGA) ++found;
  }
  ChooseKernels(before);
  EXPECT_GT(found, 0);
}

TEST(OpCases, AreThoseOfOnePlaceAndPlainOnesWhereAskedFor) {
  const auto before = ChooseKernels(PlaceKind::kFPGA);
  int chosen = 0;
  for (const KernelDef* kernel : KernelsOf("mul")) {
    EXPECT_TRUE(kernel->key.place == PlaceKind::kFPGA ||
                (kernel->key.place == PlaceKind::kCPU &&
                 kernel->key.library == "PLAIN"))
        << ToString(*kernel);
    ++chosen;
  }
  ChooseKernels(before);
  EXPECT_GT(chosen, 0);
}

class OpHarness : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    ASSERT_EQ(LossOfDevice(), "") << "the device was lost before";
  }

  // Calls visit(kernel, example, index of the example) for each kernel of the
  // op with each example of the kernel's dtype.
  template <typename Visit>
  void ForEachRun(Visit visit) {
    for (const KernelDef* kernel : KernelsOf(op_)) {
      const auto& examples = ExamplesOf(op_, kernel->key.dtype);
      for (size_t i = 0; i < examples.size(); ++i) {
        SCOPED_TRACE(ToString(*kernel) + " with " + ToString(examples[i]));
        visit(*kernel, examples[i], i);
        if (!LossOfDevice().empty()) return;
      }
    }
  }

  // Calls visit(isolated op, example, kernels) for each dtype that kernels have
  // and each example of it.
  template <typename Visit>
  void ForEachOp(Visit visit) {
    std::map<DType, std::vector<const KernelDef*>> kernels;
    for (const KernelDef* kernel : KernelsOf(op_)) {
      kernels[kernel->key.dtype].push_back(kernel);
    }
    for (const auto& [dtype, of_dtype] : kernels) {
      for (const OpExample& example : ExamplesOf(op_, dtype)) {
        SCOPED_TRACE(ToString(example));
        VisitIsolated(op_, example, [&, &all = of_dtype](const IsolatedOp& op) {
          visit(op, example, all);
        });
      }
    }
  }

  const std::string op_ = GetParam();
  const OpCase& op_case_ = OpCases().at(op_);
};

TEST_P(OpHarness, ExamplesCoverEmptyOneAndOddSizes) {
  for (const KernelDef* kernel : KernelsOf(op_)) {
    bool empty = false, one = false, odd = false;
    for (const OpExample& example : ExamplesOf(op_, kernel->key.dtype)) {
      Arrays arrays = InputArrays(example);
      if (arrays.empty()) {  // without inputs, check outputs
        arrays = op_case_.reference({}, DescribeExample(op_, example));
      }
      for (const auto& [argument, array] : arrays) {
        empty = empty || array.values.empty();
        for (int64_t size : array.dims) {
          one = one || size == 1;
          odd = odd || (size > 1 && size % 2 == 1);
        }
      }
    }
    EXPECT_TRUE(empty && one && odd) << ToString(*kernel);
  }
}

// Inputs that are not changed, equal bits in reruns, and more: see Verifier.
TEST_P(OpHarness, EveryKernelMatchesTheReference) {
  SetFillFreshMemory(true);
  std::map<const KernelDef*, int> runs;
  ForEachOp([&](const IsolatedOp& op, const OpExample& example,
                const std::vector<const KernelDef*>& kernels) {
    const Arrays want =
        op_case_.reference(InputArrays(example), DescribeExample(op_, example));
    std::map<double, Verifier> verifiers;
    for (const KernelDef* kernel : kernels) {
      const double slack = op_case_.SlackOf(*kernel);
      const auto& verifier =
          verifiers
              .try_emplace(slack, op, ToReference(op, want, slack),
                           Registry::Global())
              .first->second;
      runs[kernel] += ExpectRight(*kernel, op, verifier) ? 1 : 0;
    }
  });
  for (const KernelDef* kernel : KernelsOf(op_)) {
    // Kernels that need other processes: tests/python/ranks.
    if (CpuLacks(*kernel)) continue;
    if (kernel->has_own_queue() && kernel->predicate) continue;
    EXPECT_GT(runs[kernel], 0)
        << ToString(*kernel) << " takes no example of the op's case";
  }
}

// A kernel that tuning finds wrong is excluded, so there must be no false
// alarm.
TEST_P(OpHarness, TuningFindsEveryKernelRight) {
  ForEachOp([&](const IsolatedOp& op, const OpExample&,
                const std::vector<const KernelDef*>& kernels) {
    const Verifier verifier(op, Registry::Global());
    EXPECT_TRUE(verifier.has_reference());
    for (const KernelDef* kernel : kernels) {
      ExpectRight(*kernel, op, verifier);
    }
  });
}

// Every value has its own memory, so that AddressSanitizer detects accesses out
// of bounds.
TEST_P(OpHarness, IsolatedRunsGiveTheSameBits) {
  ForEachRun([&](const KernelDef& kernel, const OpExample& example, size_t) {
    const auto shared = RunKernel(kernel, example);
    const auto isolated = RunKernel(kernel, example, /*isolate=*/true);
    ASSERT_EQ(shared.has_value(), isolated.has_value());
    if (!shared) return;
    for (const auto& [argument, tensor] : *shared) {
      SCOPED_TRACE("output " + argument);
      ExpectSameBits(isolated->at(argument), tensor);
    }
  });
}

std::vector<std::string> HarnessOpsWithCases() {
  std::vector<std::string> ops;
  for (const auto& [op, unused] : OpCases()) {
    if (Registry::Global().FindSchema(op) != nullptr) ops.push_back(op);
  }
  return ops;
}

INSTANTIATE_TEST_SUITE_P(Ops,
                         OpHarness,
                         ::testing::ValuesIn(HarnessOpsWithCases()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace sluice::testing
