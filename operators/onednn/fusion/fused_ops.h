#pragma once

#include "sluice/framework/op/op_kernel.h"
#include "sluice/operators/onednn/primitive_cache.h"

// Ops that passes put in the place of several: they are in no program, and
// their only kernels are oneDNN's.
namespace sluice::operators::onednn {

// The first step of a fused op where that is an activation which oneDNN applies
// while the output is still in registers; none for an op that is not fused.
Activation FirstActivation(const framework::OpDesc& op);

}  // namespace sluice::operators::onednn
