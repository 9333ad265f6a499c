// Selects the examples that kernels are checked with.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "sluice/framework/op/op_schema.h"
#include "sluice/laboratory/kernel_check.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {

// At most 8 examples, and at most 3 of each kind, are varied in size.
constexpr size_t kMostSeeds = 8;
constexpr int kMostOfKind = 3;

// A key: examples with different keys are of different kinds.
std::string RanksOf(const OpExample& example) {
  std::string ranks;
  for (const ExampleInput& input : example.inputs) {
    ranks += Format("{} {}, ", input.argument, input.dims.rank());
  }
  return ranks;
}

bool HasElements(const OpExample& example) {
  return std::all_of(
      example.inputs.begin(), example.inputs.end(),
      [](const ExampleInput& input) { return input.dims.numel() > 0; });
}

}  // namespace

std::vector<OpExample> ExamplesToCheck(const OpSchema& schema,
                                       DType dtype,
                                       const KernelCheckOptions& options) {
  std::vector<OpExample> examples;
  const bool given = std::any_of(
      options.examples.begin(), options.examples.end(),
      [&](const OpExample& example) { return example.op == schema.name(); });
  for (const OpExample& example :
       given ? options.examples : BuiltinExamples(schema.name())) {
    const auto& dtypes = example.dtypes;
    if (example.op == schema.name() &&
        (dtypes.empty() ||
         std::count(dtypes.begin(), dtypes.end(), dtype) > 0)) {
      examples.push_back(example);
    }
  }
  // No example for this dtype: use those of other dtypes of the same kind.
  if (examples.empty() && !given) {
    for (const OpExample& example : BuiltinExamples(schema.name())) {
      if (std::all_of(example.dtypes.begin(), example.dtypes.end(),
                      IsFloating) == IsFloating(dtype)) {
        examples.push_back(example);
      }
    }
  }
  if (examples.empty() && !given) examples = GuessExamples(schema, dtype);
  std::set<std::string> known;
  for (const OpExample& example : examples) {
    known.insert(ExampleToJson(example));
  }
  // The first examples of each kind get an equal share.
  std::vector<std::vector<OpExample>> others;
  std::map<std::string, int> kinds;
  for (const OpExample& example : examples) {
    if (!HasElements(example) || others.size() == kMostSeeds ||
        ++kinds[RanksOf(example)] > kMostOfKind) {
      continue;
    }
    others.push_back(OtherSizes(example));
    OpExample larger = example;
    if (MakeLarger(dtype, &larger)) {
      others.back().insert(others.back().begin(), std::move(larger));
    }
  }
  int added = 0;
  for (size_t i = 0; added < options.most_others; ++i) {
    bool any = false;
    for (const std::vector<OpExample>& of_one : others) {
      if (i >= of_one.size()) continue;
      any = true;
      if (!known.insert(ExampleToJson(of_one[i])).second) continue;
      examples.push_back(of_one[i]);
      ++added;
    }
    if (!any) break;
  }
  return examples;
}

}  // namespace sluice
