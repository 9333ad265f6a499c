#include <algorithm>
#include <limits>

#include "tests/operators/harness/harness.h"
#include "tests/operators/harness/kernel_choice.h"
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include "sluice/framework/op/op_schema.h"
#include "sluice/laboratory/example_op.h"

// Every kernel of every op with one NaN, inf or -inf in one of its inputs: all
// kernels of one dtype must return the same, so that the choice of a kernel
// never decides whether it survives.
namespace sluice::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kSpecial[] = {std::numeric_limits<double>::quiet_NaN(),
                               kInfinity, -kInfinity};

// Inputs with more elements get only one of the numbers. Beyond the second
// limit, ops with naive references get none.
constexpr int64_t kSmall = 500, kLarge = 4000;

bool IsLarge(const OpExample& example) {
  bool large = false;
  for (const auto& [argument, tensor] : example.inputs) {
    large = large || tensor.numel() > kLarge;
  }
  return large;
}

// Calls visit(example) with one element of one input changed: each number in
// each input, at its first element, its last and one between them in turn.
template <typename Visit>
void ForEachSpecial(const std::string& op,
                    const OpExample& example,
                    const Visit& visit) {
  for (size_t i = 0; i < example.inputs.size(); ++i) {
    const auto& [argument, tensor] = example.inputs[i];
    const int64_t numel = tensor.numel();
    if (!IsFloating(tensor.dtype()) || numel == 0) continue;
    const int64_t places[] = {0, numel * 5 / 9, numel - 1};
    for (size_t k = 0; k < 3; ++k) {
      if (numel > kSmall && k != i % 3) continue;
      const int64_t place = places[(i + k) % 3];
      Array array = ToArray(tensor);
      array.values[static_cast<size_t>(place)] = kSpecial[k];
      OpExample changed = example;
      changed.inputs[i].second = ToTensor(array, tensor.dtype());
      const auto computed =
          ComputeForward(op, changed.attributes, &changed.inputs);
      if (std::count(computed.begin(), computed.end(), argument) > 0) continue;
      SCOPED_TRACE(
          Format("element {} of input {} is {}", place, argument, kSpecial[k]));
      visit(changed);
    }
  }
}

// Outputs of `kernel` for the example, or in `refusal` the check that rejects
// its numbers.
std::optional<Outputs> RunOrRefuse(const KernelDef& kernel,
                                   const OpExample& example,
                                   std::string* refusal) {
  RunOpOptions options{.hint = HintFor(kernel)};
  for (const auto& def : Registry::Global().Schema(kernel.op).outputs()) {
    options.outputs.push_back(def.name);
  }
  try {
    return RunOp(kernel.op, example.inputs, example.attributes, options);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kInvalidArgument) {
      *refusal = error.check_id();
    } else {
      ReportFailure(kernel, error);
    }
    return std::nullopt;
  }
}

class SpecialNumbers : public ::testing::TestWithParam<std::string> {
 protected:
  // Compares the kernels of one dtype.
  void Compare(const std::vector<const KernelDef*>& kernels) {
    const bool open = op_case_.alternative != nullptr;
    for (const OpExample& example :
         ExamplesOf(op_, kernels.front()->key.dtype)) {
      if (open && IsLarge(example)) continue;
      std::vector<const KernelDef*> able;
      for (const KernelDef* kernel : kernels) {
        if (RunKernel(*kernel, example)) able.push_back(kernel);
        if (HasFailure()) return;
      }
      if (able.size() < (open ? 1 : 2)) continue;
      ForEachSpecial(op_, example, [&](const OpExample& changed) {
        // The first of them is enough.
        if (HasFailure()) return;
        if (open) return CompareWithEither(able, changed);
        CompareWithFirst(able, changed);
      });
    }
  }

  const std::string op_ = GetParam();
  const OpCase& op_case_ = OpCases().at(op_);

 private:
  void CompareWithFirst(const std::vector<const KernelDef*>& kernels,
                        const OpExample& example) const {
    std::string refusal;
    const auto want = RunOrRefuse(*kernels[0], example, &refusal);
    for (size_t i = 1; i < kernels.size(); ++i) {
      SCOPED_TRACE(ToString(*kernels[i]) + " and " + ToString(*kernels[0]) +
                   " with " + ToString(example));
      std::string also;
      const auto got = RunOrRefuse(*kernels[i], example, &also);
      ASSERT_EQ(also, refusal);
      if (!refusal.empty()) continue;
      ASSERT_TRUE(want && got);
      for (const auto& [argument, tensor] : *got) {
        SCOPED_TRACE("output " + argument);
        ExpectNear(tensor, ToArray(want->at(argument)),
                   2 * op_case_.SlackOf(*kernels[i]));
      }
    }
  }

  void CompareWithEither(const std::vector<const KernelDef*>& kernels,
                         const OpExample& example) const {
    const OpDesc op = DescribeExample(op_, example);
    const Arrays inputs = InputArrays(example);
    const Arrays want = op_case_.reference(inputs, op);
    const Arrays other = op_case_.alternative(inputs, op);
    for (const KernelDef* kernel : kernels) {
      SCOPED_TRACE(ToString(*kernel) + " with " + ToString(example));
      const auto got = RunKernel(*kernel, example);
      ASSERT_TRUE(got);
      for (const auto& [argument, tensor] : *got) {
        SCOPED_TRACE("output " + argument);
        ExpectNearEither(tensor, want.at(argument), other.at(argument),
                         op_case_.SlackOf(*kernel));
      }
    }
  }
};

TEST_P(SpecialNumbers, BecomeTheSameInEveryKernelOfADType) {
  std::map<DType, std::vector<const KernelDef*>> kernels;
  for (const KernelDef* kernel : KernelsOf(op_)) {
    kernels[kernel->key.dtype].push_back(kernel);
  }
  for (const auto& [dtype, of_dtype] : kernels) {
    Compare(of_dtype);
  }
}

std::vector<std::string> OpsWithCases() {
  std::vector<std::string> ops;
  for (const auto& [op, unused] : OpCases()) {
    if (Registry::Global().FindSchema(op) != nullptr) ops.push_back(op);
  }
  return ops;
}

INSTANTIATE_TEST_SUITE_P(Ops,
                         SpecialNumbers,
                         ::testing::ValuesIn(OpsWithCases()),
                         [](const auto& info) { return info.param; });

TEST(HarnessNotices, ANumberThatIsByNeitherOfTwoRules) {
  const double nan = kSpecial[0];
  const Tensor got = Tensor::FromVector<double>({2}, {1, nan});
  Array want({2}), other({2});
  want.values = {1, 2};
  other.values = {nan, nan};
  ExpectNearEither(got, want, other, 1);
  want.values = {2, 2};
  EXPECT_NONFATAL_FAILURE(ExpectNearEither(got, want, other, 1), "element 0");
}

TEST(HarnessNotices, AnInfinityWhereANumberBelongs) {
  const Tensor got = Tensor::FromVector<double>({1}, {kInfinity});
  Array want({1});
  EXPECT_NONFATAL_FAILURE(ExpectNear(got, want, 1), "is inf, expected 0");
  want.values = {-kInfinity};
  EXPECT_NONFATAL_FAILURE(ExpectNear(got, want, 1), "is inf, expected -inf");
}

}  // namespace
}  // namespace sluice::testing
