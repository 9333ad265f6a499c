#pragma once

#include "sluice/platform/function_ref.h"

// Control of the device that the program was built for. The build uses one of
// device_control_emulated.cc and device_control_native.cc.
namespace sluice::testing {

// Calls `body` for each order of threads and blocks that the emulation
// supports; once on a GPU, which has its own order.
void InEveryOrder(FunctionRef<void()> body);

// Restores the device after a test lost it. A GPU is restored only by the end
// of the process.
void RestoreDevice();

}  // namespace sluice::testing
