#pragma once

#include "sluice/framework/op/kernel_work.h"
#include "sluice/operators/onednn/conv/conv2d_sizes.h"

namespace sluice::onednn {

// Returns the work of conv2d, fused_conv2d or a gradient of them by this
// variant. It depends on oneDNN's implementation for the sizes, the unused
// elements of its vectors, and the copies to and from the layout.
KernelWork ConvWork(const KernelQuery& query, ConvVariant variant);

}  // namespace sluice::onednn
