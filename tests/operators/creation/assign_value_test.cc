#include <vector>

#include "tests/operators/harness/op_case.h"
#include "tests/testing/expect_error.h"
#include <gtest/gtest.h>

#include "sluice/framework/run/run_op.h"

namespace sluice {
namespace {

using ::sluice::testing::ExpectError;
using Floats = std::vector<double>;
using Ints = std::vector<int64_t>;

Tensor Assign(const Ints& shape, DType dtype, const Floats& values) {
  return RunOp("assign_value", {},
               {{"shape", shape}, {"dtype", dtype}, {"values", values}})["Out"];
}

TEST(AssignValue, RefusesAnotherNumberOfValues) {
  ExpectError(ErrorCode::kInvalidArgument, "assign_value.count",
              {"assign_value", "3 numbers", "[2, 2]", "4"}, [] {
                Assign({2, 2}, DType::kFloat32, {1, 2, 3});
              });
}

TEST(AssignValue, RefusesBadShapes) {
  ExpectError(ErrorCode::kInvalidArgument, "assign_value.rank",
              {"assign_value", "9 entries", "at most 8"},
              [] { Assign(Ints(9, 1), DType::kFloat32, {0}); });
  ExpectError(ErrorCode::kInvalidArgument, "op.attribute_limit",
              {"assign_value", "shape", "at least 0"},
              [] { Assign({-1}, DType::kFloat32, {0}); });
}

}  // namespace
}  // namespace sluice

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
