#pragma once

#include <vector>

#include "sluice/framework/op/op_desc.h"
#include "sluice/framework/values/tensor.h"
#include "sluice/operators/packed_weights.h"
#include "sluice/platform/export.h"

// A batch norm that normalizes by constants is a number to multiply each output
// channel by, and one to add: a convolution in front of it does both when its
// filter and bias are made for it. With
//   a[o] = Scale[o] / sqrt(Variance[o] + epsilon)
// the filter becomes Filter[o, ...] * a[o], and the bias
//   (Bias[o] - Mean[o]) * a[o] + Shift[o].
// Parameters are float32 or bfloat16; a is computed in double, and only the
// folded filter is rounded to the op's dtype again.
namespace sluice::operators {

// Whether a fused_conv2d has a batch norm in it.
SLUICE_API bool HasNorm(const framework::OpDesc& op);

// a. [out channels]
SLUICE_API std::vector<double> NormFactors(const framework::Tensor& scale,
                                           const framework::Tensor& variance,
                                           double epsilon);

// A parameter in float32.
SLUICE_API std::vector<float> FloatsOf(const framework::Tensor& parameter);

// The folded bias, float32 [out channels], of Scale, Shift, Mean, Variance, and
// Bias where there is one.
SLUICE_API PackingPtr PackFoldedBias(double epsilon);

}  // namespace sluice::operators
