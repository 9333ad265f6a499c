#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "tests/operators/op_case.h"

// Cases of ops that compute Out[i] = f(X[i]).
namespace sluice::testing {

// Where an op's examples lie: anywhere, not too near to 0, or above it.
inline double Anywhere(double value) {
  return value;
}
inline double AwayFromZero(double value) {
  const double distance = ExampleMaker::kSpacing / 2;
  return value + (value < 0 ? -distance : distance);
}
inline double AboveZero(double value) {
  return std::abs(value) + 0.5;
}

using Function = double (*)(double);

inline std::vector<OpExample> UnaryExamples(ExampleMaker& make,
                                            const std::string& argument,
                                            Function domain) {
  std::vector<OpExample> examples;
  for (const framework::DDim& dims :
       {framework::DDim{3, 7}, {}, {1}, {5, 0}, {2, 131, 521}}) {
    Array x = ToArray(make.Values(dims));
    for (double& value : x.values) {
      value = domain(value);
    }
    examples.push_back({{{argument, ToTensor(x, make.dtype())}}, {}});
  }
  return examples;
}

inline Arrays UnaryReference(const Arrays& in, Function function) {
  Array out = in.at("X");
  for (double& value : out.values) {
    value = function(value);
  }
  return {{"Out", out}};
}

// `seen` is the argument that the derivative is written with.
inline std::vector<OpExample> UnaryGradExamples(ExampleMaker& make,
                                                const std::string& seen,
                                                Function domain) {
  std::vector<OpExample> examples = UnaryExamples(make, seen, domain);
  for (OpExample& example : examples) {
    example.inputs.emplace_back("Out@GRAD",
                                make.Values(example.inputs[0].second.dims()));
  }
  return examples;
}

inline Arrays UnaryGradReference(const Arrays& in,
                                 const std::string& seen,
                                 Function derivative) {
  Array x_grad = in.at("Out@GRAD");
  for (size_t i = 0; i < x_grad.values.size(); ++i) {
    x_grad.values[i] *= derivative(in.at(seen).values[i]);
  }
  return {{"X@GRAD", x_grad}};
}

}  // namespace sluice::testing

// Registers the cases of `op` and its gradient, in namespace sluice::testing.
// The expressions are in x: what the op gives, and its derivative in terms of
// `seen`, X or Out.
#define SLUICE_UNARY_CASE(op, domain, result, seen, derivative)              \
  static double op##_Result(double x) {                                      \
    return result;                                                           \
  }                                                                          \
  static double op##_Derivative(double x) {                                  \
    return derivative;                                                       \
  }                                                                          \
  static std::vector<OpExample> op##_Examples(ExampleMaker& make) {          \
    return UnaryExamples(make, "X", domain);                                 \
  }                                                                          \
  static Arrays op##_Reference(const Arrays& in, const framework::OpDesc&) { \
    return UnaryReference(in, op##_Result);                                  \
  }                                                                          \
  static std::vector<OpExample> op##_GradExamples(ExampleMaker& make) {      \
    return UnaryGradExamples(make, seen, domain);                            \
  }                                                                          \
  static Arrays op##_GradReference(const Arrays& in,                         \
                                   const framework::OpDesc&) {               \
    return UnaryGradReference(in, seen, op##_Derivative);                    \
  }                                                                          \
  REGISTER_OP_CASE(op, op##_Examples, op##_Reference);                       \
  REGISTER_OP_CASE(op##_grad, op##_GradExamples, op##_GradReference)
