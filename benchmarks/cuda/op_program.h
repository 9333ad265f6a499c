#pragma once

#include <map>
#include <string>
#include <vector>

#include "benchmarks/cuda/fill.h"

#include "sluice/framework/run/run_op.h"
#include "sluice/laboratory/op_example.h"

// Examples and their gradients as programs of one op, so that ours on the
// device, the CPU's kernel and another library compute the same.
namespace sluice::bench {

// Tensors by variable. Programs that only describe an op have outlines, whose
// elements nobody may read.
using Tensors = std::map<std::string, Tensor>;
Tensor Outline(DType dtype, const DDim& dims);

// An input of an example. All have different values; those of a mask
// (an argument that is called so) are runs.
struct FilledInput {
  std::string argument;
  std::string name;  // "X", and "X[1]" for the second of a variadic argument
  DType dtype = DType::kFloat32;
  DDim dims{};
  Fill fill{};
};
std::vector<FilledInput> InputsOf(const OpExample& example);

// The program of an example, whose outputs are called like their arguments.
OneOp MakeForward(const OpExample& example, const Tensors& inputs);
OneOp DescribeForward(const OpExample& example);

// The first op of type `gradient` among the gradient ops of `forward`. Its
// inputs are variables of `forward` and gradients of its outputs; optional
// gradients are those of the main output only.
OpDesc GradientDesc(const OneOp& forward, const std::string& gradient);
OneOp DescribeGradient(const OneOp& forward, const std::string& gradient);
// The types of all gradient ops of `forward`, without duplicates.
std::vector<std::string> GradientOps(const OneOp& forward);

OneOp MakeOp(OpDesc desc, const Tensors& inputs);
const OpDesc& DescOf(const OneOp& op);

// The bytes that the op must read and write: its outputs and inputs, except
// inputs used only for their shape or read on the host.
double BytesOf(const OneOp& op);

}  // namespace sluice::bench
