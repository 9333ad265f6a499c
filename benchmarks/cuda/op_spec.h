#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sluice/framework/op/op_schema.h"
#include "sluice/framework/program/program.h"

// An op and its inputs, so that any program can create the same op and numbers:
// ours on the device, the CPU's kernel, another library.
namespace sluice::bench {

// The rule for the elements of a tensor: element i is a function of i and of
// `seed`, see FillElement.
struct Fill {
  enum class Kind : uint8_t {
    kUniform,  // numbers from [low, high)
    kIndex,    // integers from [low, high)
    kRuns,  // integers: starts in [0, high / 2), then ends in [high / 2, high)
  };
  Kind kind = Kind::kUniform;
  double low = -1;
  double high = 1;
  uint32_t seed = 1;
};
std::string ToString(Fill::Kind kind);

struct InputSpec {
  std::string argument;  // repeated if it is variadic
  DDim dims;
  Fill fill{};
  DType dtype = DType::kFloat32;
};

struct OpSpec {
  std::string op;
  std::vector<InputSpec> inputs;
  AttributeMap attributes{};
};

// The variables of the inputs: "X", and "X[1]" for the second one of a variadic
// argument X.
std::vector<std::string> InputNames(const OpSpec& spec);

// A program of one op.
struct OneOpProgram {
  Program program;
  OpDesc op;

  const VarDesc& Var(const std::string& name) const;
  // The schema's traits of the argument of an input variable.
  ArgTraits TraitsOf(const std::string& input) const;
};

// Both functions raise what Program::AppendOp raises.
OneOpProgram DescribeForward(const OpSpec& spec);
// The first op of type `gradient` among the gradient ops of `forward`. Its
// inputs are variables of `forward` and gradients of its outputs; optional
// gradients are those of the main output only.
OneOpProgram DescribeGradient(const OneOpProgram& forward,
                              const std::string& gradient);
// The types of all gradient ops of `forward`, without duplicates.
std::vector<std::string> GradientOps(const OneOpProgram& forward);

// The bytes that the op must read and write: its outputs and inputs, except
// inputs used only for their shape or read on the host.
double BytesOf(const OneOpProgram& op);

}  // namespace sluice::bench
