#pragma once

#include "sluice/operators/onednn/sequence.h"

// Filter and bias of a fused_conv2d with a batch norm (fusion/folded_norm.h),
// in oneDNN's layout.
namespace sluice::onednn {

// FoldedFilter has the dimensions of `given`, and the layout and dtype of
// `wanted`. It and the folded bias, float32 [out channels], are recomputed when
// one of their parameters has changed.
SequenceBuilder::Value FoldedFilter(SequenceBuilder& builder,
                                    const Desc& given,
                                    const Desc& wanted);
SequenceBuilder::Value FoldedBias(SequenceBuilder& builder, const Desc& bias);

}  // namespace sluice::onednn
