#pragma once

#include <memory>

#include "sluice/platform/device.h"

namespace sluice::platform {

// The host as a device. Its memory limit is what the machine or the cgroup
// grants, less headroom for code, stacks and what others allocate.
std::unique_ptr<Device> MakeCPUDevice();

}  // namespace sluice::platform
