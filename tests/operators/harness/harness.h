#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/operators/harness/op_case.h"

#include "sluice/framework/op/registry.h"
#include "sluice/framework/run/run_op.h"

// Helpers of harness_test.cc to run kernels and compare their outputs.
namespace sluice::testing {

// Outputs by argument name.
using Outputs = std::map<std::string, Tensor>;

// "require place=cpu, library=PLAIN, variant=blocked": only this kernel.
std::string HintFor(const KernelDef& kernel);

// Fails the test with the error of a kernel. After a lost device all other runs
// fail with it, too (kernel_choice.h).
void ReportFailure(const KernelDef& kernel, const Error& error);

// Runs `example` with only this `kernel`, with all outputs; returns nothing if
// the kernel rejects the inputs.
std::optional<Outputs> RunKernel(const KernelDef& kernel,
                                 const OpExample& example,
                                 bool isolate = false);

// The variable of each input: named as its argument, or X[1], X[2] for the
// further ones of a variadic X.
std::vector<std::string> InputNames(const OpExample& example);

// Binds these variables to the arguments of `op`.
void BindInputs(const OpExample& example, OpDesc* op);

// The op as the reference sees it, arguments and attributes complete.
OpDesc DescribeExample(const std::string& op, const OpExample& example);

// The inputs of `example` as numbers, by argument name.
Arrays InputArrays(const OpExample& example);

// Fails the test unless `got` equals `want` within `slack` tolerances of its
// dtype; NaN equals NaN.
void ExpectNear(const Tensor& got, const Array& want, double slack);
// Accepts `want` or `other` for elements where they differ.
void ExpectNearEither(const Tensor& got,
                      const Array& want,
                      const Array& other,
                      double slack);
void ExpectSameBits(const Tensor& got, const Tensor& want);

// Kernels of `op`, including those of modules, the FPGA stub and CUDA if built,
// except those that --kernels excludes (kernel_choice.h).
std::vector<const KernelDef*> KernelsOf(const std::string& op);

// "X float32 [2, 3], Y float32 [4, 3], axis = 1".
std::string ToString(const OpExample& example);

}  // namespace sluice::testing
