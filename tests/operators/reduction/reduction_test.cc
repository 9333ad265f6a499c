#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "tests/operators/harness/harness.h"
#include <gtest/gtest.h>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/op/registry.h"
#include "sluice/framework/program/program.h"
#include "sluice/framework/run/executor.h"
#include "sluice/framework/run/run_op.h"
#include "sluice/operators/reduction/reduction_row.h"

namespace sluice {
namespace {

using Ints = std::vector<int64_t>;

TEST(Reduction, TheDimensionsMayBeFed) {
  Program program;
  const auto x = program.Data("x", DType::kFloat32, {-1, 3});
  const auto dim = program.Data("dim", DType::kInt64, {-1});
  program.AppendOp("reduce_max", {{"X", {x.name()}}, {"Dim", {dim.name()}}},
                   {{"keep_dim", true}}, {}, {{"Out", {"out"}}});
  EXPECT_EQ(program.FindVar("out").dims, DDim({-1, -1}));
  Executor executor;
  const auto run = [&](const Ints& dims) {
    const DDim count({static_cast<int64_t>(dims.size())});
    return executor.Run(
        program,
        {{"x", Tensor::FromVector<float>({2, 3}, {1, 5, 2, 4, 3, 6})},
         {"dim", Tensor::FromVector<int64_t>(count, dims)}},
        {"out"})[0];
  };
  EXPECT_EQ(run({0}).ToVector<float>(), (std::vector<float>{4, 5, 6}));
  EXPECT_EQ(run({-1}).dims(), DDim({2, 1}));
  EXPECT_EQ(run({}).ToVector<float>(), std::vector<float>{6});
}

// A new row is sufficient for a complete op.
TEST(Reduction, EveryRowIsAnOpThatSaysWhatItIsElsewhere) {
  const auto& registry = Registry::Global();
  std::set<std::string> names;
  for (const ReductionInfo& info : Reductions()) {
    SCOPED_TRACE(info.name);
    EXPECT_TRUE(names.insert(info.name).second);
    const OpSchema& schema = registry.Schema(info.name);
    EXPECT_EQ(schema.doc(), info.doc);
    EXPECT_EQ(schema.onnx().op_type, info.onnx);
    EXPECT_EQ(schema.torch(), info.torch);
    EXPECT_EQ(schema.gradient_fn() != nullptr,
              info.gradient != ReductionGradient::kNone);
  }
}

}  // namespace
}  // namespace sluice

// The cases with which the harness tests every kernel of the ops.
namespace sluice::testing {
namespace {

using Ints = std::vector<int64_t>;

// The terms of each output, by their offsets in X.
struct Terms {
  DDim out;
  std::vector<std::vector<size_t>> of;
};

Terms TermsOf(const DDim& x, const OpDesc& op) {
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
  Terms terms{DDim(kept), {}};
  const Array out(ones);
  terms.of.resize(out.values.size());
  const Array all(x);
  for (size_t i = 0; i < all.values.size(); ++i) {
    Ints index = all.IndexOf(static_cast<int64_t>(i));
    for (int axis = 0; axis < x.rank(); ++axis) {
      if (reduced[axis]) index[axis] = 0;
    }
    terms.of[out.Offset(index)].push_back(i);
  }
  return terms;
}

// Numbers for which every dtype represents the result.
double InDomain(const std::string& op, double value, bool integer) {
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
    value = InDomain(info.name, value, !IsFloating(make.dtype()));
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
          one({30011, 5}, {0}),   one({41, 43, 47}, {0, 2})};
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
  const Terms terms = TermsOf(x.dims, op);
  Array out(terms.out);
  for (size_t i = 0; i < terms.of.size(); ++i) {
    std::vector<double> values;
    for (const size_t at : terms.of[i]) {
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
    const Arrays in = InputArrays(example);
    const OpDesc op = DescribeExample(info.name, example);
    const Array out = Reference(info, in, op).at("Out");
    if (info.gradient == ReductionGradient::kXAndOut) {
      example.inputs.emplace_back("Out", ToTensor(out, make.dtype()));
    }
    example.inputs.emplace_back("Out@GRAD", make.Values(out.dims));
  }
  return examples;
}

Arrays GradReference(const ReductionInfo& info,
                     const Arrays& in,
                     const OpDesc& op) {
  const Array& x = in.at("X");
  const Terms terms = TermsOf(x.dims, op);
  Array x_grad(x.dims);
  for (size_t i = 0; i < terms.of.size(); ++i) {
    std::vector<double> values;
    for (const size_t at : terms.of[i]) {
      values.push_back(x.values[at]);
    }
    const auto count = static_cast<int64_t>(values.size());
    const double out = in.contains("Out") ? in.at("Out").values[i] : 0;
    std::vector<double> derivatives(values.size());
    info.derivatives(values.data(), count, out, derivatives.data());
    for (size_t j = 0; j < values.size(); ++j) {
      x_grad.values[terms.of[i][j]] =
          in.at("Out@GRAD").values[i] * derivatives[j];
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
