#include <algorithm>
#include <map>
#include <utility>

#include "tests/operators/harness/harness.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/framework/op/op_schema.h"
#include "sluice/laboratory/gradient_check.h"

// Compares every gradient op, as its forward op's schema appends it, with
// central differences in float64: |a - n| <= 1e-7 * max(1, |a|, |n|).
namespace sluice::testing {
namespace {

constexpr double kRelativeError = 1e-7;
constexpr int64_t kMaxElements = 400;  // larger examples would take too long

GradientDifferences DifferencesOf(const OpSchema& schema,
                                  const OpExample& example,
                                  ExampleMaker& make) {
  return {MakeOneOp(schema.name(), example.inputs, example.attributes),
          [&make](const DDim& dims) { return make.Values(dims); }};
}

// Computes the gradients with this kernel for op `which` of them. Returns what
// differs, and the number of gradients.
std::pair<std::string, int> Check(GradientDifferences& differences,
                                  std::vector<OpDesc> grads,
                                  size_t which,
                                  const KernelDef& kernel) {
  grads[which].hint = HintFor(kernel);
  int compared = 0;
  std::string message = differences.Compare(grads, kRelativeError, &compared);
  return {std::move(message), compared};
}

class GradientHarness : public ::testing::TestWithParam<std::string> {};

int64_t Elements(const OpExample& example) {
  int64_t count = 0;
  for (const auto& [argument, tensor] : example.inputs)
    count += tensor.numel();
  return count;
}

TEST_P(GradientHarness, EveryKernelMatchesCentralDifferences) {
  const OpSchema& schema = Registry::Global().Schema(GetParam());
  ExampleMaker make(DType::kFloat64);
  std::map<const KernelDef*, int> gradients;
  for (const OpExample& example : OpCases().at(GetParam()).examples(make)) {
    if (Elements(example) > kMaxElements) continue;
    SCOPED_TRACE(ToString(example));
    GradientDifferences differences = DifferencesOf(schema, example, make);
    const std::vector<OpDesc> grads =
        schema.gradient_fn()(differences.forward());
    for (size_t which = 0; which < grads.size(); ++which) {
      for (const KernelDef* kernel : KernelsOf(grads[which].type)) {
        if (kernel->key.dtype != DType::kFloat64) continue;
        SCOPED_TRACE(ToString(*kernel));
        gradients.try_emplace(kernel, 0);
        try {
          const auto [message, compared] =
              Check(differences, grads, which, *kernel);
          EXPECT_EQ(message, "");
          gradients[kernel] += compared;
        } catch (const Error& error) {
          EXPECT_EQ(error.check_id(), "resolver.no_kernel") << error.what();
        }
      }
    }
  }
  EXPECT_FALSE(gradients.empty()) << "the gradient op has no float64 kernel";
  for (const auto& [kernel, count] : gradients) {
    // Kernels that need other processes: tests/python/ranks.
    if (kernel->has_own_queue() && kernel->predicate) continue;
    EXPECT_GT(count, 0) << ToString(*kernel) << " computed no gradient";
  }
}

// Proves that the checks above can fail.
TEST(GradientCheck, NoticesAWrongGradient) {
  using Ints = std::vector<int64_t>;
  ExampleMaker make(DType::kFloat64);
  const OpExample example = {{{"X", make.Values({5})}},
                             {{"offsets", Ints{1}}, {"shape", Ints{2}}}};
  const OpSchema& schema = Registry::Global().Schema("crop");
  GradientDifferences differences = DifferencesOf(schema, example, make);
  OpDesc grad = schema.gradient_fn()(differences.forward()).at(0);
  const auto kernels = KernelsOf("crop_grad");
  const KernelDef& kernel = **std::find_if(
      kernels.begin(), kernels.end(),
      [](auto* other) { return other->key.dtype == DType::kFloat64; });
  EXPECT_EQ(Check(differences, {grad}, 0, kernel).first, "");
  grad.attributes["offsets"] = Ints{2};
  EXPECT_THAT(Check(differences, {grad}, 0, kernel).first,
              ::testing::HasSubstr("by differences"));
}

std::vector<std::string> OpsWithGradients() {
  std::vector<std::string> ops;
  for (const auto& [op, unused] : OpCases()) {
    const OpSchema* schema = Registry::Global().FindSchema(op);
    if (schema != nullptr && schema->gradient_fn() != nullptr) {
      ops.push_back(op);
    }
  }
  return ops;
}

INSTANTIATE_TEST_SUITE_P(Ops,
                         GradientHarness,
                         ::testing::ValuesIn(OpsWithGradients()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace sluice::testing
