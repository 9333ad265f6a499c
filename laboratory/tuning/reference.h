#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sluice/framework/op/registry.h"
#include "sluice/laboratory/tuning/kernel_run.h"
#include "sluice/platform/export.h"

namespace sluice {

// The unit roundoff of a floating-point dtype, e.g. 2^-24 for float32.
SLUICE_API double UnitRoundoff(DType dtype);

// How far an element may be from the expected value e:
//   max(absolute, relative (|e| + offset)).
struct SLUICE_API Bound {
  double absolute = 0;
  double relative = 0;
  double offset = 0;

  double At(double expected) const;
};

// The error of one element as a multiple of its bound; up to 1 is right. NaN is
// equal to NaN; infinity if only one of both is NaN or infinite.
SLUICE_API double ErrorOf(double value,
                          double expected,
                          const Bound& bound,
                          DType dtype);

// The bound for a kernel and a naive reference that both compute in `dtype`:
// max(1, |e|) times a few units in the last place of numbers around 1, times
// `slack`. Integers must be equal.
SLUICE_API Bound NaiveBound(DType dtype, double slack);

// The elements of all outputs, by output.
using OutputValues = std::vector<std::vector<double>>;

// Expected outputs of an op for its inputs.
struct Reference {
  std::string name = {};  // of what computed them; "" if nothing can
  // The kernel that computed them; nullptr if none did.
  const KernelDef* kernel = nullptr;
  OutputValues outputs = {};
  // Other outputs that are right, too, element by element; empty if there are
  // none.
  OutputValues others = {};
  std::vector<Bound> bounds = {};  // by output
};

// The variant of a kernel, of any library, that accepts every op but refuses to
// run in plans. It is for ops that passes make, which have no plain kernel.
constexpr std::string_view kReferenceVariant = "reference";

// The simple kernel on the CPU in the op's dtype: the reference variant, or
// "plain", else the first of our own that accepts the op; nullptr if there is
// none.
SLUICE_API const KernelDef* PlainKernel(const OpFacts& op,
                                        const Registry& registry);

// Runs a kernel on the CPU. Raises what the kernel raises.
SLUICE_API OutputValues ComputeOutputs(const IsolatedOp& op,
                                       const KernelDef& kernel);

// The outputs of the op's plain kernel on the CPU: in float64 if it has such a
// kernel (inputs are widened), else in its own dtype. `others` are those in its
// own dtype, so that an index which rounding decides may be either. An element
// may differ by
//   max(k u (|reference| + s), 4 e)
// with u the unit roundoff of the output's dtype, s the largest finite
// magnitude of the output, e the largest error of the plain kernel in the op's
// own dtype (which cancellation may make larger than rounding), and k = 8 +
// 2 sqrt(n). n is the number of input elements for each output element, or of
// multiply-adds if the estimate of a kernel counts more: rounding errors of
// sums grow like the square root of their length (Higham and Mary, "A new
// approach to probabilistic rounding error analysis", SIAM J. Sci. Comput. 41,
// 2019). Integers and booleans must be equal. Raises what the kernels raise.
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

// The factor k u of the bound above, for an output of the op by index; 0 for
// dtypes without rounding.
SLUICE_API double RoundingFactor(const OpFacts& op,
                                 size_t output,
                                 const Registry& registry);

// Compares the outputs of a kernel with the reference. NaNs and infinities must
// be where the reference has them; a value that overflows the output's dtype
// may be either. If the reference comes from a kernel in float64, an element
// may also differ by k u d (see ComputeReference), with d the change of the
// reference relative to the relative change of its inputs: a sum with
// cancellation is no more certain than its terms.
SLUICE_API Deviation CompareWithReference(const IsolatedOp& op,
                                          const Reference& reference,
                                          const std::vector<Tensor>& outputs);

// The largest finite magnitude, or 0.
SLUICE_API double LargestMagnitude(const std::vector<double>& values);

// "Out[3, 1]": the element of an output of these dims by its index in row-major
// order.
SLUICE_API std::string ElementName(const OpFacts& op,
                                   size_t output,
                                   const DDim& dims,
                                   size_t element);

}  // namespace sluice
