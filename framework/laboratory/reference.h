#pragma once

#include <string>
#include <vector>

#include "sluice/framework/laboratory/kernel_run.h"
#include "sluice/framework/registry.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// What an op should give for its inputs: the op's plain kernel on the CPU, in
// float64 where it has one (inputs are widened), else in the op's own dtype.
struct Reference {
  const KernelDef* kernel = nullptr;  // nullptr: the op has no such kernel
  std::vector<std::vector<double>> outputs;  // by output, elements in order
  // By output: the largest error of the plain kernel in the op's own dtype,
  // which cancellation may make larger than rounding of the result.
  std::vector<double> plain_error;
};

// Raises what the kernels raise.
SLUICE_API Reference ComputeReference(const IsolatedOp& op,
                                      const Registry& registry);

// How far results are from the reference.
struct Deviation {
  // The largest error over its bound; infinity for a NaN or infinity where the
  // reference has none, or the other way round. At most 1 is right.
  double error = 0;
  // "" when it is right, else which output and element is wrong, and how.
  std::string message;
};

// Compares the outputs of a kernel with the reference. An element may differ by
//   max(k u (|reference| + s), 4 e)
// with u the unit roundoff of the output's dtype, s the largest finite
// magnitude of the output, e its plain_error, and k = 8 + 2 sqrt(n), n being
// the number of input elements for each output element: rounding errors of sums
// grow like the square root of their length (Higham and Mary, "A new approach
// to probabilistic rounding error analysis", SIAM J. Sci. Comput. 41, 2019).
// Integers and booleans must be equal. NaN and infinities must be where the
// reference has them; what overflows a 16-bit output may be either.
SLUICE_API Deviation CompareWithReference(const IsolatedOp& op,
                                          const Reference& reference,
                                          const std::vector<Tensor>& outputs);

}  // namespace sluice::framework
