#pragma once

#include "sluice/operators/conversion/widened_kernel.h"

namespace sluice::operators {

void ConvertOnDevice(const framework::OpKernelContext& call,
                     const framework::Tensor& from,
                     framework::Tensor* to);

// As FloatsAndWidenedHalves, for kernels of CUDA.
using FloatsAndDeviceHalves = platform::Join<
    platform::Floats,
    platform::DTypeSet<InFloat<platform::float16, &ConvertOnDevice>,
                       InFloat<platform::bfloat16, &ConvertOnDevice>>>;

}  // namespace sluice::operators
