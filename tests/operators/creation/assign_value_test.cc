#include <vector>

#include "tests/operators/harness/op_case.h"

// The case with which the harness tests every kernel of the op.
namespace sluice::testing {
namespace {

using Floats = std::vector<double>;
using Ints = std::vector<int64_t>;

std::vector<OpExample> AssignValueExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  for (const Ints& shape :
       {Ints{3, 5}, Ints{}, Ints{1}, Ints{4, 0}, Ints{71, 301}}) {
    Floats values;
    for (int64_t i = DDim(shape).numel(); i > 0; --i) {
      values.push_back(static_cast<double>(make.Integer(0, 1)));
    }
    examples.push_back(
        {{}, {{"shape", shape}, {"dtype", make.dtype()}, {"values", values}}});
  }
  return examples;
}

Arrays AssignValueReference(const Arrays& /*in*/, const OpDesc& op) {
  Array out(DDim(GetAttr<Ints>(op, "shape")));
  out.values = GetAttr<Floats>(op, "values");
  return {{"Out", out}};
}

REGISTER_OP_CASE(assign_value, AssignValueExamples, AssignValueReference);

}  // namespace
}  // namespace sluice::testing
