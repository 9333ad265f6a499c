#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sluice/framework/op/registry.h"
#include "sluice/framework/tuning/kernel_run.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// What an op should give for its inputs: the op's plain kernel on the CPU, in
// float64 where it has one (inputs are widened), else in the op's own dtype.
struct Reference {
  const KernelDef* kernel = nullptr;  // nullptr: the op has no such kernel
  std::vector<std::vector<double>> outputs;  // by output, elements in order
  // What the plain kernel gives in the op's own dtype, where that is another;
  // else empty.
  std::vector<std::vector<double>> own;
  // By output: the largest error of `own`, which cancellation may make larger
  // than rounding of the result.
  std::vector<double> plain_error;
};

// The variant of a kernel, of any library, that takes every op and refuses to
// run in plans: for ops that passes make, which have no plain kernel.
constexpr std::string_view kReferenceVariant = "reference";

// The kernel on the CPU that is written to be read, in the op's dtype: the
// reference, or "plain", else the first of our own that takes the op; nullptr
// where there is none.
SLUICE_API const KernelDef* PlainKernel(const OpFacts& op,
                                        const Registry& registry);

// Raises what the kernels raise.
SLUICE_API Reference ComputeReference(const IsolatedOp& op,
                                      const Registry& registry);

// How far results are from the reference.
struct Deviation {
  // The largest error over its bound; infinity for a NaN or infinity where the
  // reference has none, or the other way round. At most 1 is right.
  double error = 0;
  // "" when it is right, else which output and element is wrong, and how:
  // "Out[3, 1] is 2, ... gives 1 (...)".
  std::string message;
};

// k u of the bound below for an output of the op, by its index; 0 for dtypes
// without rounding.
SLUICE_API double RoundingFactor(const OpFacts& op,
                                 size_t output,
                                 const Registry& registry);

// Compares the outputs of a kernel with the reference. An element may differ by
//   max(k u (|reference| + s), k u d, 4 e)
// with u the unit roundoff of the output's dtype, s the largest finite
// magnitude of the output, d by how much the reference changes for each
// share by which its inputs change (sums that cancel each other are no more
// certain than their terms), e its plain_error, and k = 8 + 2 sqrt(n), n being
// the number of input elements for each output element, or of multiply-adds
// where the estimate of a kernel counts more: rounding errors of sums grow like
// the square root of their length (Higham and Mary, "A new approach to
// probabilistic rounding error analysis", SIAM J. Sci. Comput. 41, 2019).
// Integers and booleans must be equal. NaN and infinities must be where the
// reference has them; what overflows the output's dtype may be either. An
// element that is what the plain kernel gives in the op's own dtype is right,
// so that an index which rounding decides may be either.
SLUICE_API Deviation CompareWithReference(const IsolatedOp& op,
                                          const Reference& reference,
                                          const std::vector<Tensor>& outputs);

// "Out[3, 1]": the element of an output by its index in row-major order.
SLUICE_API std::string ElementName(const OpFacts& op,
                                   size_t output,
                                   size_t element);

}  // namespace sluice::framework
