#pragma once

#include "sluice/operators/conversion/widened_kernel.h"

namespace sluice {

void ConvertOnDevice(const OpKernelContext& call,
                     const Tensor& from,
                     Tensor* to);

// As FloatsAndWidenedHalves, for kernels of CUDA.
using FloatsAndDeviceHalves =
    JoinTypes<FloatTypes,
              DTypeSet<InFloat<float16, &ConvertOnDevice>,
                       InFloat<bfloat16, &ConvertOnDevice>>>;

}  // namespace sluice
