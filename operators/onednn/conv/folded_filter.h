#pragma once

#include "sluice/operators/onednn/sequence.h"

// Filter and bias of a fused_conv2d with a batch norm in it
// (fusion/folded_norm.h), as oneDNN wants them.
namespace sluice::operators::onednn {

// The folded filter, whose dimensions are those of `given`, in the layout and
// dtype of `wanted`. It and the folded bias, float32 [out channels], are made
// again when one of the parameters that they are made of has changed.
SequenceBuilder::Value FoldedFilter(SequenceBuilder& builder,
                                    const Desc& given,
                                    const Desc& wanted);
SequenceBuilder::Value FoldedBias(SequenceBuilder& builder, const Desc& bias);

}  // namespace sluice::operators::onednn
