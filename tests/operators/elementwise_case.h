#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/operators/op_case.h"

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/op/registry.h"

// Cases of ops that compute Out = f(X, Y) element by element and repeat either.
namespace sluice::testing {

// Whether Y's numbers, and X's, keep away from 0: quotients grow beyond
// measure near it.
enum class Divisors : bool { kAnywhere, kAwayFromZero };

inline framework::Tensor Operand(ExampleMaker& make,
                                 const framework::DDim& dims,
                                 Divisors divisors) {
  framework::Tensor values = make.Values(dims);
  if (divisors == Divisors::kAnywhere) return values;
  Array away = ToArray(values);
  for (double& value : away.values) {
    value += value < 0 ? -1 : 1;
  }
  return ToTensor(away, make.dtype());
}

inline std::vector<OpExample> ElementwiseExamples(ExampleMaker& make,
                                                  Divisors divisors) {
  using framework::DDim;
  const auto example = [&](const DDim& x, const DDim& y, int64_t axis = -1) {
    return OpExample{{{"X", make.Values(x)}, {"Y", Operand(make, y, divisors)}},
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

// Calls visit(offset in X, in Y, in the common shape), which it returns, for
// each element of the latter.
template <typename Visit>
framework::DDim ForEachPair(const framework::DDim& x,
                            const framework::DDim& y,
                            int64_t axis,
                            Visit visit) {
  const int rank = std::max(x.rank(), y.rank());
  const int x_axis = rank - x.rank();
  const int y_axis = axis < 0 ? rank - y.rank() : static_cast<int>(axis);
  framework::DDim dims(std::vector<int64_t>(rank, 1));
  for (int i = 0; i < x.rank(); ++i) {
    dims[x_axis + i] = x[i];
  }
  for (int i = 0; i < y.rank(); ++i) {
    if (dims[y_axis + i] == 1) dims[y_axis + i] = y[i];
  }
  const Array out(dims);
  const auto offset = [](const framework::DDim& own, int first,
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

inline Arrays ElementwiseReference(const Arrays& in,
                                   const framework::OpDesc& op,
                                   double (*function)(double, double)) {
  const Array& x = in.at("X");
  const Array& y = in.at("Y");
  std::vector<double> values;
  const framework::DDim dims =
      ForEachPair(x.dims, y.dims, GetAttr<int64_t>(op, "axis"),
                  [&](size_t x_at, size_t y_at, size_t) {
                    double value = function(x.values[x_at], y.values[y_at]);
                    // The other integers of examples are small enough.
                    if (x.dtype == platform::DType::kUInt8) {
                      value -= 256 * std::floor(value / 256);
                    }
                    values.push_back(value);
                  });
  Array out(dims);
  out.values = values;
  return {{"Out", out}};
}

using GradFunction = double (*)(double x, double y, double grad);

// With input Out where the gradient op has one.
inline std::vector<OpExample> ElementwiseGradExamples(
    ExampleMaker& make,
    Divisors divisors,
    const std::string& op,
    double (*function)(double, double)) {
  const framework::OpSchema& schema =
      framework::Registry::Global().Schema(op + "_grad");
  std::vector<OpExample> examples = ElementwiseExamples(make, divisors);
  for (OpExample& example : examples) {
    const Array x = ToArray(example.inputs[0].second);
    const Array y = ToArray(example.inputs[1].second);
    framework::OpDesc desc;
    desc.attributes = example.attributes;
    const Array out =
        ElementwiseReference({{"X", x}, {"Y", y}}, desc, function).at("Out");
    if (schema.FindInput("Out") != nullptr) {
      example.inputs.emplace_back("Out", ToTensor(out, make.dtype()));
    }
    example.inputs.emplace_back("Out@GRAD", make.Values(out.dims));
  }
  return examples;
}

inline Arrays ElementwiseGradReference(const Arrays& in,
                                       const framework::OpDesc& op,
                                       GradFunction of_x,
                                       GradFunction of_y) {
  const Array& x = in.at("X");
  const Array& y = in.at("Y");
  Array x_grad(x.dims);
  Array y_grad(y.dims);
  ForEachPair(
      x.dims, y.dims, GetAttr<int64_t>(op, "axis"),
      [&](size_t x_at, size_t y_at, size_t at) {
        const double grad = in.at("Out@GRAD").values[at];
        x_grad.values[x_at] += of_x(x.values[x_at], y.values[y_at], grad);
        y_grad.values[y_at] += of_y(x.values[x_at], y.values[y_at], grad);
      });
  return {{"X@GRAD", x_grad}, {"Y@GRAD", y_grad}};
}

}  // namespace sluice::testing

// Registers the cases of `op` and its gradient, in namespace sluice::testing.
// The expressions are in x and y, and the gradients in `grad`, too. Sums of
// rounded products may lose a few digits.
#define SLUICE_ELEMENTWISE_CASE(op, divisors, result, x_result, y_result,      \
                                grad_slack)                                    \
  static double op##_Result(double x, double y) {                              \
    return result;                                                             \
  }                                                                            \
  static double op##_OfX([[maybe_unused]] double x, [[maybe_unused]] double y, \
                         double grad) {                                        \
    return x_result;                                                           \
  }                                                                            \
  static double op##_OfY([[maybe_unused]] double x, [[maybe_unused]] double y, \
                         double grad) {                                        \
    return y_result;                                                           \
  }                                                                            \
  static std::vector<OpExample> op##_Examples(ExampleMaker& make) {            \
    return ElementwiseExamples(make, divisors);                                \
  }                                                                            \
  static Arrays op##_Reference(const Arrays& in,                               \
                               const framework::OpDesc& desc) {                \
    return ElementwiseReference(in, desc, op##_Result);                        \
  }                                                                            \
  static std::vector<OpExample> op##_GradExamples(ExampleMaker& make) {        \
    return ElementwiseGradExamples(make, divisors, #op, op##_Result);          \
  }                                                                            \
  static Arrays op##_GradReference(const Arrays& in,                           \
                                   const framework::OpDesc& desc) {            \
    return ElementwiseGradReference(in, desc, op##_OfX, op##_OfY);             \
  }                                                                            \
  REGISTER_OP_CASE(op, op##_Examples, op##_Reference);                         \
  REGISTER_OP_CASE(op##_grad, op##_GradExamples, op##_GradReference, grad_slack)
