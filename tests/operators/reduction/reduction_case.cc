#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/operators/harness/op_case.h"

#include "sluice/operators/reduction/reduction_row.h"

// The cases with which the harness tests every kernel of the ops.
namespace sluice::testing {
namespace {

using Ints = std::vector<int64_t>;

// X with sizes of 1 where it is reduced, and the shape of Out.
struct Shapes {
  DDim ones, out;
};

Shapes ShapesOf(const DDim& x, const OpDesc& op) {
  const Ints& dim = GetAttr<Ints>(op, "dim");
  const bool keep = GetAttr<bool>(op, "keep_dim");
  std::vector<bool> reduced(x.rank(),
                            dim.empty() || GetAttr<bool>(op, "reduce_all"));
  for (const int64_t axis : dim) {
    reduced[axis < 0 ? axis + x.rank() : axis] = true;
  }
  DDim ones = x;
  Ints kept;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (reduced[axis]) ones[axis] = 1;
    if (!reduced[axis] || keep) kept.push_back(ones[axis]);
  }
  return {ones, DDim(kept)};
}

// The terms of each output, by their offsets in X.
using Terms = std::vector<std::vector<size_t>>;

Terms TermsOf(const DDim& x, const DDim& ones) {
  const Array out(ones);
  const Array all(x);
  Terms terms(out.values.size());
  for (size_t i = 0; i < all.values.size(); ++i) {
    Ints index = all.IndexOf(static_cast<int64_t>(i));
    for (int axis = 0; axis < x.rank(); ++axis) {
      if (ones[axis] == 1) index[axis] = 0;
    }
    terms[out.Offset(index)].push_back(i);
  }
  return terms;
}

// Numbers for which every dtype represents the result.
double TermInDomain(const std::string& op, double value, bool integer) {
  if (op == "reduce_prod" && integer) return value < 0 ? -1 : 1;
  if (op == "reduce_prod") {
    return 1 + (std::abs(value) < 1 ? value : 1 / value) / 16;
  }
  if (op == "reduce_l1" || op == "reduce_sum_square") return value / 8;
  return op == "reduce_log_sum" ? std::abs(value) + 0.5 : value;
}

Tensor Values(const ReductionInfo& info, ExampleMaker& make, const DDim& dims) {
  Array x = ToArray(make.Values(dims));
  for (double& value : x.values) {
    value = TermInDomain(info.name, value, !IsFloating(make.dtype()));
  }
  return ToTensor(x, make.dtype());
}

std::vector<OpExample> Examples(const ReductionInfo& info, ExampleMaker& make) {
  const auto one = [&](const DDim& dims, const Ints& dim, bool keep = false,
                       bool all = false) {
    return OpExample{{{"X", Values(info, make, dims)}},
                     {{"dim", dim}, {"keep_dim", keep}, {"reduce_all", all}}};
  };
  return {one({3, 5}, {0}),       one({3, 5}, {-1}),
          one({3, 5, 7}, {1}),    one({3, 5, 7}, {0, 2}, true),
          one({3, 5, 7}, {}),     one({3, 5}, {0}, true, true),
          one({1}, {0}),          one({}, {}),
          one({0, 3}, {0}),       one({0, 3}, {1}),
          one({2, 0}, {1}, true), one({1031}, {0}),
          one({140003}, {0}),     one({3, 40009}, {1}),
          one({30011, 5}, {0}),   one({41, 43, 47}, {0, 2}),
          one({3, 5}, {}, true)};
}

template <typename T>
double Clamped(double value) {
  using Limits = std::numeric_limits<T>;
  return std::clamp(value, static_cast<double>(Limits::lowest()),
                    static_cast<double>(Limits::max()));
}

// The least and the largest of no integers and bools are the dtype's.
double InRange(DType dtype, double value) {
  switch (dtype) {
    case DType::kInt8:
      return Clamped<int8_t>(value);
    case DType::kUInt8:
      return Clamped<uint8_t>(value);
    case DType::kInt32:
      return Clamped<int32_t>(value);
    case DType::kInt64:
      return Clamped<int64_t>(value);
    case DType::kBool:
      return Clamped<bool>(value);
    default:
      return value;
  }
}

Arrays Reference(const ReductionInfo& info,
                 const Arrays& in,
                 const OpDesc& op) {
  const Array& x = in.at("X");
  const Shapes shapes = ShapesOf(x.dims, op);
  const Terms terms = TermsOf(x.dims, shapes.ones);
  Array out(shapes.out);
  for (size_t i = 0; i < terms.size(); ++i) {
    std::vector<double> values;
    for (const size_t at : terms[i]) {
      values.push_back(x.values[at]);
    }
    const auto count = static_cast<int64_t>(values.size());
    out.values[i] = InRange(x.dtype, info.reference(values.data(), count));
  }
  return {{"Out", out}};
}

std::vector<OpExample> GradExamples(const ReductionInfo& info,
                                    ExampleMaker& make) {
  std::vector<OpExample> examples = Examples(info, make);
  for (OpExample& example : examples) {
    const Tensor x = example.inputs[0].second;
    OpDesc op;
    op.attributes = example.attributes;
    if (info.gradient == ReductionGradient::kXAndOut) {
      const Array out = Reference(info, {{"X", ToArray(x)}}, op).at("Out");
      example.inputs.emplace_back("Out", ToTensor(out, make.dtype()));
    }
    const DDim dims = ShapesOf(x.dims(), op).out;
    example.inputs.emplace_back("Out@GRAD", make.Values(dims));
  }
  return examples;
}

Arrays GradReference(const ReductionInfo& info,
                     const Arrays& in,
                     const OpDesc& op) {
  const Array& x = in.at("X");
  const Terms terms = TermsOf(x.dims, ShapesOf(x.dims, op).ones);
  Array x_grad(x.dims);
  for (size_t i = 0; i < terms.size(); ++i) {
    std::vector<double> values;
    for (const size_t at : terms[i]) {
      values.push_back(x.values[at]);
    }
    const auto count = static_cast<int64_t>(values.size());
    const double out = in.contains("Out") ? in.at("Out").values[i] : 0;
    std::vector<double> derivatives(values.size());
    info.derivatives(values.data(), count, out, derivatives.data());
    for (size_t j = 0; j < values.size(); ++j) {
      x_grad.values[terms[i][j]] = in.at("Out@GRAD").values[i] * derivatives[j];
    }
  }
  return {{"X@GRAD", x_grad}};
}

// The references lose digits in sums of 70,000 numbers.
[[maybe_unused]] const bool reduction_cases = [] {
  for (const ReductionInfo& info : Reductions()) {
    OpCase forward;
    forward.slack = 4;
    forward.examples = [&info](ExampleMaker& make) {
      return Examples(info, make);
    };
    forward.reference = [&info](const Arrays& in, const OpDesc& op) {
      return Reference(info, in, op);
    };
    AddOpCase(info.name, forward);
    if (info.gradient == ReductionGradient::kNone) continue;
    OpCase gradient;
    gradient.slack = 4;
    gradient.examples = [&info](ExampleMaker& make) {
      return GradExamples(info, make);
    };
    gradient.reference = [&info](const Arrays& in, const OpDesc& op) {
      return GradReference(info, in, op);
    };
    AddOpCase(std::string(info.name) + "_grad", gradient);
  }
  return true;
}();

}  // namespace
}  // namespace sluice::testing
