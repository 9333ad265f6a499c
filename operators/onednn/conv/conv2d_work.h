#pragma once

#include "sluice/framework/op/kernel_work.h"
#include "sluice/operators/onednn/conv/conv2d_sizes.h"

namespace sluice::operators::onednn {

// Returns the cost of conv2d, fused_conv2d or a gradient of them in this
// layout. It depends on oneDNN's implementation for the sizes, the unused
// elements of its vectors, and the copies to and from the layout.
framework::KernelWork ConvWork(const framework::KernelQuery& query,
                               ConvLayout layout);

}  // namespace sluice::operators::onednn
