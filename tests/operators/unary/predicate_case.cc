#include <cmath>
#include <limits>
#include <vector>

#include "tests/operators/harness/op_case.h"

#include "sluice/operators/unary/predicate_row.h"
#include "sluice/platform/number_format.h"

// The cases with which the harness tests every kernel of the ops.
namespace sluice::testing {
namespace {

// Some of the floats are NaN or infinite.
std::vector<OpExample> PredicateExamples(ExampleMaker& make) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<OpExample> examples;
  for (const DDim& dims : {DDim{3, 7}, {}, {1}, {5, 0}, {2, 131, 521}}) {
    Array x = ToArray(make.Values(dims));
    if (IsFloating(make.dtype())) {
      for (size_t i = 0; i + 2 < x.values.size(); i += 5) {
        x.values[i] = kInfinity;
        x.values[i + 1] = -kInfinity;
        x.values[i + 2] = std::nan("");
      }
    }
    examples.push_back({{{"X", ToTensor(x, make.dtype())}}, {}});
  }
  return examples;
}

[[maybe_unused]] const bool predicate_cases = [] {
  for (const PredicateInfo& info : Predicates()) {
    OpCase op_case;
    op_case.examples = PredicateExamples;
    op_case.reference = [&info](const Arrays& in, const OpDesc&) {
      Array out = in.at("X");
      const bool wraps = !FormatOf(out.dtype).is_signed;
      for (double& value : out.values) {
        value = info.reference(value);
        if (wraps && value < 0) {
          value += std::ldexp(1.0, FormatOf(out.dtype).bits);
        }
      }
      return Arrays{{"Out", out}};
    };
    AddOpCase(info.name, op_case);
  }
  return true;
}();

}  // namespace
}  // namespace sluice::testing
