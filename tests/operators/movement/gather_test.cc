#include <algorithm>
#include <numeric>
#include <vector>

#include "tests/operators/harness/harness.h"

// The case with which the harness tests every kernel of the op.
namespace sluice::testing {
namespace {

std::vector<OpExample> GatherExamples(ExampleMaker& make) {
  std::vector<OpExample> examples;
  const auto add = [&](const DDim& x, const DDim& index, int64_t axis,
                       DType dtype) {
    const int64_t size = x[static_cast<int>(axis < 0 ? axis + x.rank() : axis)];
    examples.push_back(
        {{{"X", make.Values(x)},
          {"Index", make.Integers(dtype, index, size > 1 ? -size : 0,
                                  std::max<int64_t>(size - 1, 0))}},
         {{"axis", axis}}});
  };
  for (DType dtype : {DType::kInt32, DType::kInt64}) {
    add({5, 3}, {7}, 0, dtype);
    add({9}, {2, 3}, 0, dtype);
    add({2, 5, 3}, {4}, 1, dtype);
    add({2, 5, 3}, {2, 2}, -1, dtype);
    add({1, 1}, {}, 0, dtype);
    add({4, 0}, {3}, 0, dtype);
    add({0, 3}, {0}, 0, dtype);
    add({4, 3}, {0}, 1, dtype);
    add({97, 31}, {2101}, 0, dtype);
  }
  return examples;
}

Arrays GatherReference(const Arrays& in, const OpDesc& op) {
  const Array& x = in.at("X");
  const Array& picked = in.at("Index");
  int64_t axis = GetAttr<int64_t>(op, "axis");
  if (axis < 0) axis += x.dims.rank();
  std::vector<int64_t> dims(x.dims.begin(), x.dims.begin() + axis);
  dims.insert(dims.end(), picked.dims.begin(), picked.dims.end());
  dims.insert(dims.end(), x.dims.begin() + axis + 1, x.dims.end());
  Array out{DDim(dims)};
  for (size_t i = 0; i < out.values.size(); ++i) {
    std::vector<int64_t> index = out.IndexOf(static_cast<int64_t>(i));
    const auto first = index.begin() + axis;
    const auto last = first + picked.dims.rank();
    double at = picked.values[picked.Offset({first, last})];
    if (at < 0) at += static_cast<double>(x.dims[static_cast<int>(axis)]);
    index.insert(index.erase(first, last), static_cast<int64_t>(at));
    out.values[i] = x.values[x.Offset(index)];
  }
  return {{"Out", out}};
}

std::vector<OpExample> GatherGradExamples(ExampleMaker& make) {
  std::vector<OpExample> examples = GatherExamples(make);
  for (OpExample& example : examples) {
    const OpDesc op = DescribeExample("gather", example);
    const Arrays out = GatherReference(InputArrays(example), op);
    example.inputs.emplace_back("Out@GRAD", make.Values(out.at("Out").dims));
  }
  return examples;
}

Arrays GatherGradReference(const Arrays& in, const OpDesc& op) {
  // Gathering the offsets in X shows the target of each gradient.
  Array offsets = in.at("X");
  std::iota(offsets.values.begin(), offsets.values.end(), 0.0);
  const Array picked =
      GatherReference({{"X", offsets}, {"Index", in.at("Index")}}, op)
          .at("Out");
  Array x_grad(offsets.dims);
  for (size_t i = 0; i < picked.values.size(); ++i) {
    x_grad.values[static_cast<size_t>(picked.values[i])] +=
        in.at("Out@GRAD").values[i];
  }
  return {{"X@GRAD", x_grad}};
}

REGISTER_OP_CASE(gather, GatherExamples, GatherReference);
// Sums of some twenty numbers, in float32.
REGISTER_OP_CASE(gather_grad, GatherGradExamples, GatherGradReference, 8);

}  // namespace
}  // namespace sluice::testing
