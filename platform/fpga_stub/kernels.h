#pragma once

#include <vector>

#include "sluice/platform/device_plugin.h"

namespace sluice::fpga_stub {

class Device;

// The stub's device `index`; valid for every index below the device count.
Device& GetDevice(int32_t index);

// The table that the host gave; for its `fail` and its attributes.
const SluiceHost& Host();

using KernelList = std::vector<const SluiceKernelDef*>;

// For float32 and float64:
const KernelList& ManhattanKernels();  // manhattan_distance, `systolic`
const KernelList& StreamKernels();     // scale and reshape, `stream`

// All of them, manhattan_distance first.
const KernelList& Kernels();

}  // namespace sluice::fpga_stub
