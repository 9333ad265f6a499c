#include <vector>

#include "tests/operators/harness/harness.h"
#include "tests/operators/harness/infer_op_shapes.h"
#include <gtest/gtest.h>

namespace sluice {
namespace {

using ::sluice::testing::InferOpShapes;

TEST(Concat, InfersWhatIsKnown) {
  EXPECT_EQ(InferOpShapes("concat", {{"X", {-1, 2}}, {"X", {3, 2}}}).at("Out"),
            DDim({-1, 2}));
  EXPECT_EQ(InferOpShapes("concat", {{"X", {1, -1}}, {"X", {3, 2}}}).at("Out"),
            DDim({4, 2}));
  EXPECT_EQ(InferOpShapes("concat", {{"X", DDim::UnknownRank()}, {"X", {3, 2}}})
                .at("Out"),
            DDim({-1, 2}));
}

}  // namespace
}  // namespace sluice

// The case with which the harness tests every kernel of the op.
namespace sluice::testing {
namespace {

std::vector<OpExample> ConcatExamples(ExampleMaker& make) {
  const auto join = [&](const std::vector<DDim>& shapes, int64_t axis) {
    OpExample example;
    example.attributes = {{"axis", axis}};
    for (const DDim& dims : shapes) {
      example.inputs.emplace_back("X", make.Values(dims));
    }
    return example;
  };
  return {join({{3, 5}, {2, 5}}, 0),
          join({{3, 5, 2}, {3, 1, 2}, {3, 2, 2}}, 1),
          join({{2, 3}, {2, 1}}, -1),
          join({{7}}, 0),
          join({{2, 0}, {2, 3}}, 1),
          join({{0, 3}, {0, 3}}, 1),
          join({{151, 301}, {151, 99}}, 1)};
}

// The inputs X in their order.
std::vector<Array> Joined(const Arrays& in) {
  std::vector<Array> inputs = {in.at("X")};
  for (int i = 1;; ++i) {
    const auto next = in.find(Format("X[{}]", i));
    if (next == in.end()) return inputs;
    inputs.push_back(next->second);
  }
}

int AxisOf(const OpDesc& op, const Array& x) {
  const auto axis = GetAttr<int64_t>(op, "axis");
  return static_cast<int>(axis < 0 ? axis + x.dims.rank() : axis);
}

Arrays ConcatReference(const Arrays& in, const OpDesc& op) {
  const std::vector<Array> inputs = Joined(in);
  const int axis = AxisOf(op, inputs[0]);
  DDim dims = inputs[0].dims;
  for (size_t i = 1; i < inputs.size(); ++i) {
    dims[axis] += inputs[i].dims[axis];
  }
  Array out(dims);
  int64_t first = 0;
  for (const Array& x : inputs) {
    for (size_t i = 0; i < x.values.size(); ++i) {
      auto index = x.IndexOf(static_cast<int64_t>(i));
      index[axis] += first;
      out.values[out.Offset(index)] = x.values[i];
    }
    first += x.dims[axis];
  }
  return {{"Out", out}};
}

std::vector<OpExample> ConcatGradExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  for (OpExample& example : ConcatExamples(make)) {
    const OpDesc op = DescribeExample("concat", example);
    const Array out = ConcatReference(InputArrays(example), op).at("Out");
    const auto count = static_cast<int64_t>(example.inputs.size());
    example.inputs.emplace_back("Out@GRAD", make.Values(out.dims));
    for (int64_t index = 0; index < count; ++index) {
      example.attributes["index"] = index;
      examples.push_back(example);
    }
  }
  return examples;
}

Arrays ConcatGradReference(const Arrays& in, const OpDesc& op) {
  const std::vector<Array> inputs = Joined(in);
  const int axis = AxisOf(op, inputs[0]);
  const auto which = GetAttr<int64_t>(op, "index");
  int64_t first = 0;
  for (int64_t i = 0; i < which; ++i) {
    first += inputs[i].dims[axis];
  }
  Array x_grad(inputs[which].dims);
  for (size_t i = 0; i < x_grad.values.size(); ++i) {
    auto index = x_grad.IndexOf(static_cast<int64_t>(i));
    index[axis] += first;
    const Array& grad = in.at("Out@GRAD");
    x_grad.values[i] = grad.values[grad.Offset(index)];
  }
  return {{"X@GRAD", x_grad}};
}

REGISTER_OP_CASE(concat, ConcatExamples, ConcatReference);
REGISTER_OP_CASE(concat_grad, ConcatGradExamples, ConcatGradReference);

}  // namespace
}  // namespace sluice::testing
