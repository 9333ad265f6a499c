#pragma once

#include "sluice/framework/op/op_kernel.h"
#include "sluice/operators/onednn/primitive_cache.h"

// Ops that passes put in the place of several: they are in no program, and
// their only kernels are oneDNN's.
namespace sluice::operators::onednn {

// The activation that a fused op applies; none for an op that is not fused.
Activation FusedActivation(const framework::OpKernelConstruction& construction);

}  // namespace sluice::operators::onednn
