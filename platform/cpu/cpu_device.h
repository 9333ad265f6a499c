#pragma once

#include <memory>

#include "sluice/platform/device.h"

namespace sluice {

// Makes the host's device. Its memory limit is that of the machine or the
// cgroup, less headroom for code, stacks and other allocations.
std::unique_ptr<Device> MakeCPUDevice();

}  // namespace sluice
