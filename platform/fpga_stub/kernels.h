#pragma once

#include <vector>

#include "sluice/platform/device_plugin.h"

namespace sluice::fpga_stub {

class Device;

// The stub's device `index`; valid for every index below the device count.
Device& GetDevice(int32_t index);

// The table that the host gave; for its `fail`.
const SluiceHost& Host();

// manhattan_distance for float32 and float64, variant `systolic`.
const std::vector<const SluiceKernelDef*>& Kernels();

}  // namespace sluice::fpga_stub
