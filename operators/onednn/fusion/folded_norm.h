#pragma once

#include "sluice/operators/onednn/sequence.h"

// A batch norm that normalizes by constants is a number to multiply each output
// channel by, and one to add: a convolution in front of it does both when its
// filter and bias are made for it. With
//   a[o] = Scale[o] / sqrt(Variance[o] + epsilon)
// the filter becomes Filter[o, ...] * a[o], and the bias
//   (Bias[o] - Mean[o]) * a[o] + Shift[o].
// Parameters are float32 or bfloat16; a is computed in double, and only the
// folded filter is rounded to the op's dtype again.
namespace sluice::operators::onednn {

// Whether a fused_conv2d has a batch norm in it.
bool HasNorm(const SequenceBuilder& builder);

// The folded filter, whose dimensions are those of `given`, in the layout and
// dtype of `wanted`. It and the folded bias, float32 [out channels], are made
// again when one of the parameters that they are made of has changed. For ops
// with HasNorm.
SequenceBuilder::Value FoldedFilter(SequenceBuilder& builder,
                                    const Desc& given,
                                    const Desc& wanted);
SequenceBuilder::Value FoldedBias(SequenceBuilder& builder, const Desc& bias);

}  // namespace sluice::operators::onednn
