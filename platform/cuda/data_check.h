#pragma once

#include <cstdint>

#include <kernel_launch.h>

#include "sluice/platform/cuda/data_fault.h"
#include "sluice/platform/cuda_device_context.h"

namespace sluice {

// Checks the indices in a kernel's input. The kernel accepts one by value,
// calls Inside for every index, and skips those that are outside:
//   const DataCheck check(device, size, &RaiseIndex);
//   ForEach(device, n, [=] __device__(int64_t i) {
//     if (check.Inside(i, index[i])) out[i] = x[index[i]];
//   });
struct DataCheck {
  DataCheck(const CUDADeviceContext& context,
            int64_t allowed,
            RaiseOutside raise_outside)
      : fault(context.data_fault()),
        op_index(context.op_index()),
        raise(raise_outside),
        bound(allowed) {}

  __device__ bool Inside(int64_t position, int64_t value) const {
    if (value >= 0 && value < bound) return true;
    if (atomicCAS(&fault->taken, 0U, 1U) == 0U) {
      fault->op_index = op_index;
      fault->position = position;
      fault->value = value;
      fault->bound = bound;
      // `raise` is written last: the host may read while another kernel runs.
      __threadfence_system();
      *const_cast<RaiseOutside volatile*>(&fault->raise) = raise;
    }
    return false;
  }

  DataFault* fault;
  int op_index;
  RaiseOutside raise;
  int64_t bound;
};

}  // namespace sluice
