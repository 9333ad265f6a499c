#pragma once

#include <vector>

#include "sluice/framework/op/op_desc.h"
#include "sluice/framework/values/tensor.h"
#include "sluice/operators/packed_weights.h"
#include "sluice/platform/export.h"

// A batch norm with constant statistics multiplies each output channel by a
// number and adds another. A convolution before it can do both by other filters
// and another bias. With
//   a[o] = Scale[o] / sqrt(Variance[o] + epsilon)
// the filter becomes Filter[o, ...] * a[o], and the bias
//   (Bias[o] - Mean[o]) * a[o] + Shift[o].
// Parameters are float32 or bfloat16. a is computed in double, and only the
// folded filter is rounded to the op's dtype again.
namespace sluice {

// Whether a fused_conv2d includes a batch norm.
SLUICE_API bool HasNorm(const OpDesc& op);

// Returns the factors a, [out channels].
SLUICE_API std::vector<double> NormFactors(const Tensor& scale,
                                           const Tensor& variance,
                                           double epsilon);

// Returns a parameter as float32.
SLUICE_API std::vector<float> FloatsOf(const Tensor& parameter);

// Returns a packing that computes the folded bias, float32 [out channels], from
// Scale, Shift, Mean, Variance and, if present, Bias.
SLUICE_API PackingPtr PackFoldedBias(double epsilon);

}  // namespace sluice
