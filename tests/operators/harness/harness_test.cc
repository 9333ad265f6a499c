#include "tests/operators/harness/harness.h"

#include <cstring>
#include <set>

#include "tests/operators/harness/kernel_choice.h"
#include <gtest/gtest.h>

#include "sluice/framework/op/op_schema.h"
#include "sluice/memory/testing.h"
#include "sluice/platform/parallel_for.h"
#include "sluice/platform/plugin/plugin_loader.h"

namespace sluice::testing {
namespace {

using framework::ArgDef;
using framework::KernelDef;
using framework::Registry;
using framework::Tensor;
using platform::DType;

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
      << "\nAdd REGISTER_OP_CASE(op, examples, reference) to "
         "tests/operators/<op>_test.cc; see tests/operators/harness/op_case.h.";
  for (const auto& [op, unused] : OpCases()) {
    EXPECT_NE(Registry::Global().FindSchema(op), nullptr)
        << "there is a case for " << op << ", but no such op";
  }
}

// If the FPGA stub is built, its kernels are tested, too.
TEST(OpCases, KernelsOfPluginsAreTestedToo) {
  if (platform::FindPlugin("fpga").empty()) GTEST_SKIP() << "no FPGA stub";
  int found = 0;
  const auto before = ChooseKernels(std::nullopt);
  for (const KernelDef* kernel : KernelsOf("manhattan_distance")) {
    if (kernel->key.place == platform::PlaceKind::kFPGA) ++found;
  }
  ChooseKernels(before);
  EXPECT_GT(found, 0);
}

TEST(OpCases, AreThoseOfOnePlaceAndPlainOnesWhereAskedFor) {
  const auto before = ChooseKernels(platform::PlaceKind::kFPGA);
  int chosen = 0;
  for (const KernelDef* kernel : KernelsOf("mul")) {
    EXPECT_TRUE(kernel->key.place == platform::PlaceKind::kFPGA ||
                (kernel->key.place == platform::PlaceKind::kCPU &&
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
      ExampleMaker make(kernel->key.dtype);
      const auto examples = op_case_.examples(make);
      for (size_t i = 0; i < examples.size(); ++i) {
        SCOPED_TRACE(ToString(*kernel) + " with " + ToString(examples[i]));
        visit(*kernel, examples[i], i);
        if (!LossOfDevice().empty()) return;
      }
    }
  }

  const std::string op_ = GetParam();
  const OpCase& op_case_ = OpCases().at(op_);
};

TEST_P(OpHarness, ExamplesCoverEmptyOneAndOddSizes) {
  for (const KernelDef* kernel : KernelsOf(op_)) {
    ExampleMaker make(kernel->key.dtype);
    bool empty = false, one = false, odd = false;
    for (const OpExample& example : op_case_.examples(make)) {
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

// Fresh memory is full of NaNs, so that unwritten elements show, too.
TEST_P(OpHarness, EveryKernelMatchesTheReference) {
  memory::SetFillFreshMemory(true);
  std::map<const KernelDef*, int> runs;
  ForEachRun([&](const KernelDef& kernel, const OpExample& example, size_t) {
    const auto got = RunKernel(kernel, example);
    if (!got) return;
    ++runs[&kernel];
    const Arrays want =
        op_case_.reference(InputArrays(example), DescribeExample(op_, example));
    for (const ArgDef& def : Registry::Global().Schema(op_).outputs()) {
      SCOPED_TRACE("output " + def.name);
      ASSERT_EQ(want.count(def.name), 1u) << "the reference has no such output";
      ExpectNear(got->at(def.name), want.at(def.name),
                 op_case_.SlackOf(kernel));
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

TEST_P(OpHarness, KernelsOfOneDTypeAgree) {
  std::map<DType, int> kernels;
  for (const KernelDef* kernel : KernelsOf(op_))
    ++kernels[kernel->key.dtype];
  std::map<std::pair<DType, size_t>, Outputs> firsts;
  ForEachRun([&](const KernelDef& kernel, const OpExample& example, size_t i) {
    if (kernels[kernel.key.dtype] == 1) return;
    auto got = RunKernel(kernel, example);
    if (!got) return;
    const auto [first, is_first] =
        firsts.try_emplace({kernel.key.dtype, i}, *got);
    if (is_first) return;
    for (const auto& [argument, tensor] : *got) {
      SCOPED_TRACE("output " + argument);
      ExpectNear(tensor, ToArray(first->second.at(argument)),
                 2 * op_case_.SlackOf(kernel));
    }
  });
}

TEST_P(OpHarness, KernelsLeaveTheirInputsAlone) {
  ForEachRun([&](const KernelDef& kernel, const OpExample& example, size_t) {
    std::vector<Tensor> before;
    for (const auto& [argument, tensor] : example.inputs) {
      before.push_back(tensor.CopyTo(platform::CPUPlace()));
    }
    RunKernel(kernel, example);
    for (size_t i = 0; i < before.size(); ++i) {
      SCOPED_TRACE("input " + example.inputs[i].first);
      ExpectSameBits(example.inputs[i].second, before[i]);
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

// `plain` kernels must compute the same bits for any number of threads, others
// similar numbers.
TEST_P(OpHarness, OneThreadAndTwoGiveTheSame) {
  const auto run = [](const KernelDef& kernel, const OpExample& example,
                      int threads) {
    const platform::ThreadCountGuard guard(threads);
    return RunKernel(kernel, example);
  };
  ForEachRun([&](const KernelDef& kernel, const OpExample& example, size_t) {
    const auto one = run(kernel, example, 1);
    const auto two = run(kernel, example, 2);
    if (!one || !two) return;
    for (const auto& [argument, tensor] : *one) {
      SCOPED_TRACE("output " + argument);
      if (kernel.variant == "plain") {
        ExpectSameBits(two->at(argument), tensor);
      } else {
        ExpectNear(two->at(argument), ToArray(tensor),
                   2 * op_case_.SlackOf(kernel));
      }
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
