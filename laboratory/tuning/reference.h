#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sluice/framework/op/registry.h"
#include "sluice/laboratory/tuning/kernel_run.h"
#include "sluice/platform/export.h"

namespace sluice::framework {

// Expected outputs of an op for its inputs, from the op's plain kernel on the
// CPU: in float64 if it has such a kernel (inputs are widened), else in its own
// dtype.
struct Reference {
  const KernelDef* kernel = nullptr;  // nullptr: the op has no such kernel
  std::vector<std::vector<double>> outputs;  // by output, elements in order
  // Outputs of the plain kernel in the op's own dtype, if that is another; else
  // empty.
  std::vector<std::vector<double>> own;
  // By output: the largest error of `own`, which cancellation may make larger
  // than the rounding error of the result.
  std::vector<double> plain_error;
};

// The variant of a kernel, of any library, that accepts every op but refuses to
// run in plans. It is for ops that passes make, which have no plain kernel.
constexpr std::string_view kReferenceVariant = "reference";

// The simple kernel on the CPU in the op's dtype: the reference variant, or
// "plain", else the first of our own that accepts the op; nullptr if there is
// none.
SLUICE_API const KernelDef* PlainKernel(const OpFacts& op,
                                        const Registry& registry);

// Raises what the kernels raise.
SLUICE_API Reference ComputeReference(const IsolatedOp& op,
                                      const Registry& registry);

// The distance of results from the reference.
struct Deviation {
  // The largest error as a multiple of its bound. Infinity if the result has a
  // NaN or infinity and the reference has not, or vice versa. Up to 1 is right.
  double error = 0;
  // "" if right, else which output and element is wrong, and how: "Out[3, 1] is
  // 2, ... gives 1 (...)".
  std::string message;
};

// The factor k u of the bound below, for an output of the op by index; 0 for
// dtypes without rounding.
SLUICE_API double RoundingFactor(const OpFacts& op,
                                 size_t output,
                                 const Registry& registry);

// Compares the outputs of a kernel with the reference. An element may differ by
//   max(k u (|reference| + s), k u d, 4 e)
// with u the unit roundoff of the output's dtype, s the largest finite
// magnitude of the output, d the change of the reference relative to the
// relative change of its inputs (a sum with cancellation is no more certain
// than its terms), e its plain_error, and k = 8 + 2 sqrt(n). n is the number of
// input elements for each output element, or of multiply-adds if the estimate
// of a kernel counts more: rounding errors of sums grow like the square root of
// their length (Higham and Mary, "A new approach to probabilistic rounding
// error analysis", SIAM J. Sci. Comput. 41, 2019). Integers and booleans must
// be equal. NaNs and infinities must be where the reference has them; a value
// that overflows the output's dtype may be either. An element equal to the
// plain kernel's in the op's own dtype is right, so that an index which
// rounding decides may be either.
SLUICE_API Deviation CompareWithReference(const IsolatedOp& op,
                                          const Reference& reference,
                                          const std::vector<Tensor>& outputs);

// "Out[3, 1]": the element of an output by its index in row-major order.
SLUICE_API std::string ElementName(const OpFacts& op,
                                   size_t output,
                                   size_t element);

}  // namespace sluice::framework
