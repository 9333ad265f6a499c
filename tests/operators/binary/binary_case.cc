#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/operators/binary/binary_domain.h"
#include "tests/operators/harness/op_case.h"

#include "sluice/operators/math/binary/binary_row.h"
#include "sluice/platform/number_format.h"

namespace sluice::testing {

namespace {

// The shape that both are broadcast to; `axis` is the first dim of Y in X, or
// -1, with which the last dims are aligned.
DDim CommonDims(const DDim& x, const DDim& y, int64_t axis) {
  const int rank = std::max(x.rank(), y.rank());
  const int x_axis = rank - x.rank();
  const int y_axis = axis < 0 ? rank - y.rank() : static_cast<int>(axis);
  DDim dims(std::vector<int64_t>(rank, 1));
  for (int i = 0; i < x.rank(); ++i) {
    dims[x_axis + i] = x[i];
  }
  for (int i = 0; i < y.rank(); ++i) {
    if (dims[y_axis + i] == 1) dims[y_axis + i] = y[i];
  }
  return dims;
}

// Calls visit(offset in X, in Y, in the common shape), which it returns, for
// each element of the latter.
template <typename Visit>
DDim ForEachPair(const DDim& x, const DDim& y, int64_t axis, Visit visit) {
  const DDim dims = CommonDims(x, y, axis);
  const int x_axis = dims.rank() - x.rank();
  const int y_axis = axis < 0 ? dims.rank() - y.rank() : static_cast<int>(axis);
  const Array out(dims);
  const auto offset = [](const DDim& own, int first,
                         const std::vector<int64_t>& index) {
    int64_t at = 0;
    for (int i = 0; i < own.rank(); ++i) {
      at = at * own[i] + (own[i] == 1 ? 0 : index[first + i]);
    }
    return static_cast<size_t>(at);
  };
  for (size_t i = 0; i < out.values.size(); ++i) {
    const auto index = out.IndexOf(static_cast<int64_t>(i));
    visit(offset(x, x_axis, index), offset(y, y_axis, index), i);
  }
  return dims;
}

Tensor Operand(ExampleMaker& make, const DDim& dims, BinaryDomain domain) {
  Array values = ToArray(make.Values(dims));
  const bool integer = !IsFloating(make.dtype());
  for (double& value : values.values) {
    value = InBinaryDomain(domain, value, integer);
  }
  return ToTensor(values, make.dtype());
}

std::vector<OpExample> Examples(const BinaryInfo& info, ExampleMaker& make) {
  const auto example = [&](const DDim& x, const DDim& y, int64_t axis = -1) {
    return OpExample{{{"X", Operand(make, x, info.x_domain)},
                      {"Y", Operand(make, y, info.y_domain)}},
                     {{"axis", axis}}};
  };
  return {example({3, 5}, {3, 5}),    example({2, 3, 5}, {5}),
          example({4, 1, 3}, {2, 1}), example({3}, {2, 1}),
          example({2, 3, 5}, {3}, 1), example({2, 3, 5}, {2, 3}, 0),
          example({}, {7}),           example({1, 1}, {}),
          example({5}, {2, 3, 5}),    example({2, 1, 5}, {3, 1}),
          example({0, 3}, {3}),       example({2, 0}, {1, 1}),
          example({5, 1}, {1, 0}),    example({251, 263}, {251, 263}),
          example({251, 263}, {263}), example({251, 263}, {251}, 0)};
}

// Wraps an integer or a bool to its dtype; int64 values are small in examples.
double Wrapped(double value, DType dtype) {
  if (dtype == DType::kBool) return value != 0 ? 1 : 0;
  if (IsFloating(dtype) || dtype == DType::kInt64) return value;
  const double count = std::ldexp(1.0, 8 * static_cast<int>(SizeOf(dtype)));
  value -= count * std::floor(value / count);
  const bool negative = FormatOf(dtype).is_signed && value >= count / 2;
  return negative ? value - count : value;
}

Arrays Reference(const BinaryInfo& info, const Arrays& in, const OpDesc& op) {
  const Array& x = in.at("X");
  const Array& y = in.at("Y");
  std::vector<double> values;
  const DDim dims = ForEachPair(
      x.dims, y.dims, GetAttr<int64_t>(op, "axis"),
      [&](size_t x_at, size_t y_at, size_t) {
        values.push_back(
            Wrapped(info.reference(x.values[x_at], y.values[y_at]), x.dtype));
      });
  Array out(dims);
  out.values = values;
  return {{"Out", out}};
}

// Adds input Out if the gradient op has one.
std::vector<OpExample> GradExamples(const BinaryInfo& info,
                                    ExampleMaker& make) {
  std::vector<OpExample> examples = Examples(info, make);
  for (OpExample& example : examples) {
    const Tensor x = example.inputs[0].second;
    const Tensor y = example.inputs[1].second;
    OpDesc op;
    op.attributes = example.attributes;
    if (info.gradient_reads.out) {
      const Array out =
          Reference(info, {{"X", ToArray(x)}, {"Y", ToArray(y)}}, op).at("Out");
      example.inputs.emplace_back("Out", ToTensor(out, make.dtype()));
    }
    const DDim dims =
        CommonDims(x.dims(), y.dims(), GetAttr<int64_t>(op, "axis"));
    example.inputs.emplace_back("Out@GRAD", make.Values(dims));
  }
  return examples;
}

Arrays GradReference(const BinaryInfo& info,
                     const Arrays& in,
                     const OpDesc& op) {
  const Array& x = in.at("X");
  const Array& y = in.at("Y");
  Array x_grad(x.dims);
  Array y_grad(y.dims);
  ForEachPair(x.dims, y.dims, GetAttr<int64_t>(op, "axis"),
              [&](size_t x_at, size_t y_at, size_t at) {
                const double a = x.values[x_at];
                const double b = y.values[y_at];
                const double grad = in.at("Out@GRAD").values[at];
                x_grad.values[x_at] += grad * info.x_derivative(a, b);
                y_grad.values[y_at] += grad * info.y_derivative(a, b);
              });
  return {{"X@GRAD", x_grad}, {"Y@GRAD", y_grad}};
}

OpCase BinaryCase(const BinaryInfo& info) {
  OpCase op_case;
  op_case.examples = [&info](ExampleMaker& make) {
    return Examples(info, make);
  };
  op_case.reference = [&info](const Arrays& in, const OpDesc& op) {
    return Reference(info, in, op);
  };
  op_case.slack = 1 + info.units;
  return op_case;
}

OpCase BinaryGradCase(const BinaryInfo& info) {
  OpCase op_case;
  op_case.examples = [&info](ExampleMaker& make) {
    return GradExamples(info, make);
  };
  op_case.reference = [&info](const Arrays& in, const OpDesc& op) {
    return GradReference(info, in, op);
  };
  op_case.slack = info.gradient_slack;
  return op_case;
}

[[maybe_unused]] const bool binary_cases = [] {
  for (const BinaryRow& row : BinaryRows()) {
    AddOpCase(row.info.name, BinaryCase(row.info));
    if (!row.info.differentiable()) continue;
    AddOpCase(std::string(row.info.name) + "_grad", BinaryGradCase(row.info));
  }
  return true;
}();

}  // namespace
}  // namespace sluice::testing
