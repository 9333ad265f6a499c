#pragma once

#include <vector>

#include "sluice/platform/device_plugin.h"

namespace sluice::fpga_stub {

class Device;

// The stub's device `index`; valid for every index below the device count.
Device& GetDevice(int32_t index);

// The host's function table, for `fail` and the attribute functions.
const SluiceHost& Host();

using KernelList = std::vector<const SluiceKernelDef*>;

// These have kernels for float32 and float64:
const KernelList& ManhattanKernels();  // manhattan_distance, `systolic`
const KernelList& StreamKernels();     // scale and reshape, `stream`

// Returns all kernels, manhattan_distance first.
const KernelList& Kernels();

}  // namespace sluice::fpga_stub
