#pragma once

#include "sluice/framework/op/kernel_work.h"
#include "sluice/operators/onednn/conv/conv2d_sizes.h"

namespace sluice::operators::onednn {

// The estimate for conv2d, fused_conv2d and their gradients in this layout:
// which of oneDNN's implementations it has for the sizes, what their vectors
// leave empty, and the copies to and from the layout.
framework::KernelWork ConvWork(const framework::KernelQuery& query,
                               ConvLayout layout);

}  // namespace sluice::operators::onednn
